package generate

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

func TestAnnotationPage(t *testing.T) {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "limit", Topic: "B", Since: "1.2.3", Effect: "Limits.",
		Example: "7", PerPort: true}, annotation.Int(1, 9, ""), 3)
	annotation.Register(registry, annotation.Definition{Name: "name", Topic: "A", Since: "1.2.4", Effect: "Names <it>.",
		Example: "x", Without: "a|b", OneService: true},
		annotation.Word("x|y", "x|y"), "")
	annotation.RegisterFamily(registry, annotation.Definition{Name: "acl-", Topic: "A", Since: "1.2.5",
		Effect: "Lets in.", Example: "::1", Without: "nobody"}, annotation.Sources())
	registry.Decline(annotation.Declined{Name: "tls-", Why: "cannot be had"})
	page := renderAnnotations(annotated{cloud: "Example", registry: registry, source: "src/example",
		introduction: annotationIntroduction, ending: "The end.\n", defaults: true})
	for _, want := range []string{
		"# Service annotations of Example\n", "from the registry in src/example.", "The end.\n",
		"All names start with `lb.example.com/`.", "    lb.example.com/max-connections.https:", "\n## A\n",
		"| `limit` | Limits. | a whole number from 1 to 9 | `3` | `7` | yes | yes | 1.2.3 |",
		`| ` + "`name`" + ` | Names &lt;it&gt;. | x\|y | a\|b | ` + "`x`" + ` | no | no | 1.2.4 |`,
		"| `acl-<port>` | Lets in. | networks like 10.0.0.0/8 or 2001:db8::/32, or single addresses, with commas " +
			"between them, at most 16384 characters | nobody | `::1` | yes | no | 1.2.5 |",
		"| `tls-…` | cannot be had |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestAnnotationPageLeavesOutColumns that have the same value in all rows.
func TestAnnotationPageLeavesOutColumns(t *testing.T) {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "internal", Topic: "A", Since: "1.2.3", Effect: "Hides.",
		Example: "true"}, annotation.Bool(), false)
	page := renderAnnotations(annotated{cloud: "Example", registry: registry})
	want := "| Annotation | Effect | Values | Without it | Example | Since |\n|---|---|---|---|---|---|\n" +
		"| `internal` | Hides. | true or false | `false` | `true` | 1.2.3 |\n"
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks %q:\n%s", want, page)
	}
}

// TestEveryAnnotationIsDescribed: a page with holes is worse than none.
func TestEveryAnnotationIsDescribed(t *testing.T) {
	for _, cloud := range annotatedClouds() {
		for _, entry := range cloud.registry.Entries() {
			if entry.Topic == "" || entry.Effect == "" || entry.Example == "" || entry.Since == "" ||
				entry.Allowed == "" {
				t.Errorf("annotation %s: %+v", entry.Name, entry)
			}
			if _, problems := cloud.registry.Parse(map[string]string{cloud.registry.Prefix() + example(entry): entry.
				Example}, []annotation.Port{{Name: "http", Number: 80}}); len(problems) > 0 {
				t.Errorf("its own example is refused: %v", problems)
			}
		}
	}
}

// example is the name of an annotation as somebody may write it.
func example(entry annotation.Entry) string {
	if entry.IsFamily() {
		return entry.Name + "http"
	}
	return entry.Name
}
