// Package conformance runs Kubernetes' own tests of load balancers in a real cluster, and compares their results with
// the table in the documentation, which has the reason for each test that does not pass.
package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// header begins the table of results in the Page.
const header = "| Test | Result | Reason |"

// Page is the document with the table of results.
func Page(root string) string { return filepath.Join(root, "docs", "reference", "conformance.md") }

// Row is what is documented about a test.
type Row struct {
	Test, Result string
	Reason       string // why it does not pass; empty if it does
	Message      string // what the message of a failure contains, as the reason says; empty if it may be any
}

// expectedMessage is the part of a reason that says what the message of a failure contains.
var expectedMessage = regexp.MustCompile(`The message contains "([^"]+)"`)

// Table reads the table of results in a document.
func Table(path string) ([]Row, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the documented results: %w", err)
	}
	_, after, found := strings.Cut(string(page), "\n"+header+"\n|---|---|---|\n")
	if !found {
		return nil, fmt.Errorf("reading the documented results: %s has no table that begins with %q", path, header)
	}
	var rows []Row
	for line := range strings.Lines(after) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if cells[0] != "" || len(cells) != 5 {
			break
		}
		row := Row{Test: strings.TrimSpace(cells[1]), Result: strings.TrimSpace(cells[2]),
			Reason: strings.TrimSpace(cells[3])}
		if found := expectedMessage.FindStringSubmatch(row.Reason); found != nil {
			row.Message = found[1]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Compare returns an error that names each test whose result, or message of a failure, is not the documented one. With
// all, those count, too, that are documented and did not run.
func Compare(rows []Row, results []Result, all bool) error {
	documented, ran := map[string]Row{}, map[string]bool{}
	for _, row := range rows {
		documented[row.Test] = row
	}
	var differences []error
	for _, result := range results {
		ran[result.Test] = true
		row := documented[result.Test]
		message := cmp.Or(result.Message, "it has no message")
		switch {
		case row.Result != result.State:
			differences = append(differences, fmt.Errorf("%s: %s, documented is %q; %s", result.Test, result.State,
				row.Result, message))
		case !strings.Contains(result.Message, row.Message):
			differences = append(differences, fmt.Errorf("%s: %s, and the documented message contains %q; %s",
				result.Test, result.State, row.Message, message))
		}
	}
	for _, row := range rows {
		if all && !ran[row.Test] {
			differences = append(differences, fmt.Errorf("%s: not run, documented is %q", row.Test, row.Result))
		}
	}
	return errors.Join(differences...)
}

// Render writes the table of results, with the reasons that are documented.
func Render(rows []Row, results []Result) string {
	var b strings.Builder
	b.WriteString(header + "\n|---|---|---|\n")
	for _, result := range results {
		reason := ""
		i := slices.IndexFunc(rows, func(row Row) bool {
			return row.Test == result.Test && row.Result == result.State
		})
		if i >= 0 && rows[i].Reason != "" {
			reason = rows[i].Reason + " "
		}
		fmt.Fprintf(&b, "| %s | %s | %s|\n", result.Test, result.State, reason)
	}
	return b.String()
}
