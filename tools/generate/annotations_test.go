package generate

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

func TestAnnotationPage(t *testing.T) {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "limit", Since: "1.2.3", Effect: "Limits.", Example: "7"}, annotation.Int(1, 9, ""), 3)
	page := renderAnnotations(registry)
	for _, want := range []string{
		"All names start with `lb.example.com/`.",
		"| `limit` | Limits. | a whole number from 1 to 9 | `3` | `7` | 1.2.3 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestEveryAnnotationIsDescribed: a page with holes is worse than none.
func TestEveryAnnotationIsDescribed(t *testing.T) {
	for _, entry := range thalassa.Annotations().Entries() {
		if entry.Effect == "" || entry.Example == "" || entry.Since == "" || entry.Allowed == "" {
			t.Errorf("annotation %s: %+v", entry.Name, entry)
		}
		if _, problems := thalassa.Annotations().Parse(map[string]string{thalassa.Annotations().Prefix() + example(entry): entry.Example}, []annotation.Port{{Name: "http", Number: 80}}); len(problems) > 0 {
			t.Errorf("its own example is refused: %v", problems)
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
