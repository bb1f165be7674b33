package charttest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// sayings are the sentences in the chart's own words, as patterns: what is in braces may be anything.
func sayings(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	var templates strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "templates", "_validate*.tpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		templates.WriteString(readFile(t, file))
	}
	for line := range strings.Lines(
		regexp.MustCompile(`(?s)\{\{-? *dict\b.*?\}\}|\{\{-?[^{]*:= (?:dict|list)\n.*?\}\}|\{\{/\*.*?\*/\}\}`).
			ReplaceAllString(templates.String(), "")) {
		line = strings.TrimSpace(line)
		text := strings.TrimSpace(regexp.MustCompile(`\{\{.*?\}\}`).ReplaceAllString(line, "\x00"))
		if strings.Trim(text, "\x00 ") == "" {
			continue
		}
		found = append(found, strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", ".+"))
	}
	return found
}

// TestEveryRefusalIsSaid: each sentence of the chart appears in an error, alone.
// Two options that exclude each other are both named, and what is required comes with an example.
func TestEveryRefusalIsSaid(t *testing.T) {
	wantSaid(t, chartDir(t), Refusals(), func(sets ...string) chart.Release { return release(minimal(t, sets...)) })
}

// wantSaid wants one sentence for each of sets, and all sentences of the chart in dir to be among them.
func wantSaid(t *testing.T, dir string, refused [][]string, with func(sets ...string) chart.Release) {
	t.Helper()
	seen := map[string]bool{}
	for _, sets := range refused {
		_, _, err := render(t, dir, with(sets...))
		if err == nil {
			t.Errorf("%q is accepted", sets)
			continue
		}
		said := sentences(t, err.Error())
		if len(said) != 1 {
			t.Errorf("with %q: %d sentences, want one: %q", sets, len(said), said)
		}
		seen[said[0]] = true
	}
	wantAllSeen(t, sayings(t, dir), seen)
}

// wantAllSeen wants a sentence for each pattern. Two options that exclude each other are both named, and what is
// required comes with an example.
func wantAllSeen(t *testing.T, all []string, seen map[string]bool) {
	t.Helper()
	if len(all) < 30 {
		t.Fatalf("only %d sentences were found in the chart: %q", len(all), all)
	}
	for _, pattern := range all {
		matches := regexp.MustCompile("^" + pattern + "$")
		// TestRemovedValuesNameTheirSuccessors has those
		found := strings.Contains(pattern, "not a value of this chart")
		for sentence := range seen {
			found = found || matches.MatchString(sentence)
		}
		if !found {
			t.Errorf("nothing makes the chart say %s", pattern)
		}
	}
	for sentence := range seen {
		about, _, _ := strings.Cut(sentence, ":")
		if strings.Contains(about, "exclude each other") && !strings.Contains(about, " and ") {
			t.Errorf("it does not name the two: %s", sentence)
		}
		if strings.Contains(about, " is required") && !strings.Contains(sentence, "for example --set") {
			t.Errorf("it has no example: %s", sentence)
		}
	}
}
