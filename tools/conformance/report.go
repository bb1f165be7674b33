package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Result is how a test ended.
type Result struct {
	Test    string
	State   string // "passed", "failed", "skipped", or another word of Ginkgo
	Message string // of a failure, or the reason why the test was skipped
}

// suiteReport is the JSON report of Ginkgo, as far as it is needed here.
type suiteReport struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		NumAttempts             int
		Failure                 struct{ Message string }
	}
}

// tags are the labels in the name of a test, such as [Slow].
var tags = regexp.MustCompile(`\s*\[[^\]]*\]`)

// Results reads the JSON report of Ginkgo. The tests are sorted by name; those that were not selected are left out. The
// error is about a report that cannot be read, and about what failed outside of tests.
func Results(report []byte) ([]Result, error) {
	var suites []suiteReport
	if err := json.Unmarshal(report, &suites); err != nil {
		return nil, fmt.Errorf("reading the report of the tests: %w", err)
	}
	var results []Result
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			result := Result{State: spec.State, Message: spec.Failure.Message}
			name := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), " ")
			result.Test = strings.TrimSpace(tags.ReplaceAllString(name, ""))
			switch {
			case spec.LeafNodeType != "It" && spec.State != "passed":
				return nil, fmt.Errorf("%s %s: %s", spec.LeafNodeType, spec.State, spec.Failure.Message)
			case spec.LeafNodeType == "It" && spec.NumAttempts > 0:
				results = append(results, result)
			}
		}
	}
	if len(results) == 0 {
		return nil, errors.New("no test ran: none was selected, or the suite ended before the first one")
	}
	slices.SortFunc(results, func(x, y Result) int { return strings.Compare(x.Test, y.Test) })
	return results, nil
}
