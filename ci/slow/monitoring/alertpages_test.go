package monitoring

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestAlertsSayWhatToDo wants a page for every alert, an alert for every page, and the index to name each with its
// severity and meaning.
func TestAlertsSayWhatToDo(t *testing.T) {
	var rows, files []string
	for _, group := range slices.Concat(charttest.CCM.RuleGroups(t),
		charttest.CCM.RuleGroups(t, charttest.Iron()...), charttest.CSI.RuleGroups(t)) {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			files = append(files, rule.Alert+".md")
			rows = append(rows, fmt.Sprintf("| [%[1]s](%[1]s.md) | %[2]s | %[3]s |", rule.Alert,
				rule.Labels["severity"], rule.Annotations["summary"]))
			want := "https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/alerts/" + rule.Alert + ".md"
			if rule.Annotations["runbook_url"] != want || rule.Annotations["summary"] == "" ||
				rule.Labels["severity"] == "" || rule.For == nil {
				t.Errorf("%s lacks something: %+v", rule.Alert, rule)
			}
			wellFormed(t, rule.Alert, rule.Expr.String())
		}
	}
	files = append(files, "README.md")
	if diff := cmp.Diff(unique(files), alertPages(t)); diff != "" {
		t.Errorf("the pages in docs/alerts are not those of the alerts (-alerts +pages):\n%s", diff)
	}
	found := regexp.MustCompile(`(?m)^\| \[.*$`).FindAllString(readCheckout(t, "docs/alerts/README.md"), -1)
	if diff := cmp.Diff(unique(rows), unique(found)); diff != "" {
		t.Errorf("the table in docs/alerts/README.md differs (-alerts +table):\n%s", diff)
	}
}

// unique are the texts, sorted, each once.
func unique(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

// alertPages are the files in docs/alerts.
func alertPages(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(checkout.Path(t, "docs/alerts"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, entry := range entries {
		files = append(files, entry.Name())
	}
	return files
}

// wellFormed wants the page of an alert to describe its meaning, its causes with a command, what to do, and when it is
// over by a metric of the alert's expression.
func wellFormed(t *testing.T, alert, expression string) {
	t.Helper()
	page := readCheckout(t, "docs/alerts/"+alert+".md")
	form := regexp.MustCompile(`(?s)^# ` + alert + `\n\n[A-Z].+\n\n## Causes\n\n\* (.+)\n\n## What to do\n\n` +
		`1\. .+\n\n## When it is over\n\n(.+)\n\nSee also \[all alerts\]\(README\.md#log.+\n$`)
	parts := form.FindStringSubmatch(page)
	if lines := strings.Count(page, "\n"); parts == nil || strings.Count(page, "\n## ") != 3 || lines > 40 {
		t.Errorf("docs/alerts/%s.md lacks its title, meaning, causes, steps, end or link, or is longer than 40 lines",
			alert)
		return
	}
	if !strings.Contains(parts[1], "kubectl ") {
		t.Errorf("docs/alerts/%s.md has no command that finds the cause", alert)
	}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(selectors(expr), func(s *parser.VectorSelector) bool {
		return regexp.MustCompile("`" + base(s.Name) + "[_`{]").MatchString(parts[2])
	}) {
		t.Errorf("docs/alerts/%s.md does not name a metric of %s in its last section", alert, expression)
	}
}

// TestQueriesOfAlertPages wants every metric and label of a query on the page of an alert to be the program's.
func TestQueriesOfAlertPages(t *testing.T) {
	known := map[string][]string{"leader_election_master_status": {"name"}}
	for _, made := range clouds(t) {
		_, offered := made()
		maps.Copy(known, exported(t, offered))
	}
	count := 0
	for _, file := range alertPages(t) {
		page := strings.Join(strings.Fields(readCheckout(t, "docs/alerts/"+file)), " ")
		for _, query := range regexp.MustCompile("query `([^`]+)`").FindAllStringSubmatch(page, -1) {
			count++
			for _, selector := range knownSelectors(t, known, file, query[1]) {
				has := slices.Concat(known[base(selector.Name)], added())
				for _, by := range regexp.MustCompile(`by \(([^)]+)\)`).FindAllStringSubmatch(query[1], -1) {
					for label := range strings.SplitSeq(by[1], ", ") {
						if !slices.Contains(has, label) {
							t.Errorf("%s: %s has no label %s, only %q", file, selector.Name, label, has)
						}
					}
				}
			}
		}
	}
	if count == 0 {
		t.Error("no query was checked")
	}
}
