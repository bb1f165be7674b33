package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// eventPages is the folder of the pages.
const eventPages = "docs/events"

// normalReasons are those of the events that the code makes with the type Normal.
func normalReasons(t *testing.T) []string {
	t.Helper()
	made := regexp.MustCompile(`(?:EventTypeNormal, |s\.expect\()(reason\w+),`)
	var reasons []string
	for _, file := range eventFiles(t) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range made.FindAllStringSubmatch(string(source), -1) {
			for _, other := range eventFiles(t) { // a constant may be in another file of the package
				if filepath.Dir(other) == filepath.Dir(file) {
					reasons = append(reasons, constantsNamed(t, other, func(name string) bool {
						return name == match[1]
					})...)
				}
			}
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// TestEventPages: the reasons of Warnings that the code makes, that it links to pages, that have pages, and that the
// table links to them, are the same.
func TestEventPages(t *testing.T) {
	normal := normalReasons(t)
	warnings := slices.DeleteFunc(eventReasons(t), func(reason string) bool { return slices.Contains(normal, reason) })
	if len(normal) == 0 || len(warnings) == 0 {
		t.Fatalf("%d reasons are Normal, %d are Warnings", len(normal), len(warnings))
	}
	if diff := cmp.Diff(warnings, event.Documented()); diff != "" {
		t.Errorf("reasons that the recorder links (-code +recorder):\n%s", diff)
	}
	var pages, linked, withoutTexts []string
	entries, err := os.ReadDir(checkout.Path(t, eventPages))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pages = append(pages, strings.TrimSuffix(entry.Name(), ".md"))
		if !wellFormed(t, entry.Name()) {
			withoutTexts = append(withoutTexts, strings.TrimSuffix(entry.Name(), ".md"))
		}
	}
	if diff := cmp.Diff(textsOfErrors(), withoutTexts); diff != "" {
		t.Errorf("pages without the texts of their event (-those whose text is an error +pages):\n%s", diff)
	}
	if diff := cmp.Diff(warnings, pages); diff != "" {
		t.Errorf("pages in docs/events (-code +pages):\n%s", diff)
	}
	for _, row := range rows(t, "Events") {
		reason, kind := quoted(row[0])[0], row[2]
		if link := fmt.Sprintf("[`%[1]s`](../events/%[1]s.md)", reason); row[0] == link {
			linked = append(linked, reason)
		}
		if want := slices.Contains(warnings, reason); want != (kind == "Warning") {
			t.Errorf("the table gives %s the type %s", reason, kind)
		}
	}
	slices.Sort(linked)
	if diff := cmp.Diff(warnings, linked); diff != "" {
		t.Errorf("reasons that the table links (-code +table):\n%s", diff)
	}
}

// textsOfErrors are the reasons whose text is that of an error or of the cloud.
func textsOfErrors() []string {
	return []string{"CIDRAssignmentFailed", "CloudRefused", "LoadBalancerLeft", "MachineNotKnown", "RouteQuotaExceeded",
		"RouteTableNotFound"}
}

// wellFormed checks the headings and the length of the page of a reason, and reports whether it has texts of the event.
func wellFormed(t *testing.T, name string) (texts bool) {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, eventPages+"/"+name))
	if err != nil {
		t.Fatal(err)
	}
	page, _, texts := strings.Cut(string(text), "\n## Messages\n") // these are generated
	lines := strings.Count(page, "\n")
	if !strings.HasPrefix(page, "# "+strings.TrimSuffix(name, ".md")+"\n\n") || lines < 10 || lines > 35 ||
		!strings.Contains(page, "\n## Causes\n\n* ") || !strings.Contains(page, "\n## What to do\n\n1. ") ||
		!strings.Contains(page, "`kubectl ") {
		t.Errorf("docs/events/%s lacks its title, causes, steps or a command, or is not 10 to 35 lines long", name)
	}
	return texts
}
