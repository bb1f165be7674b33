package object

import (
	"strings"
	"testing"
	"time"
)

func TestSlugify(t *testing.T) {
	for name, want := range map[string]string{
		"worker-1": "worker-1", "Worker 1": "worker-1", "node.example": "node-example", "É": "-",
	} {
		if got := Slugify(name); got != want {
			t.Errorf("slugify(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNewMeta(t *testing.T) {
	labels := map[string]string{"a": "b"}
	m := NewRecord("lb", Spec{Name: "Web", Labels: labels}, func(slug string) bool { return slug == "web" }, time.Now())
	if !strings.HasPrefix(m.Identity, "lb-") || len(m.Identity) != 23 || m.Slug != "web-"+m.Identity[15:] {
		t.Errorf("identity %q, slug %q, want lb-<20> and web-<end of identity>", m.Identity, m.Slug)
	}
	labels["a"] = "changed"
	if m.Labels["a"] != "b" || m.Annotations == nil {
		t.Errorf("labels %v, annotations %v, want a copy and an empty map", m.Labels, m.Annotations)
	}
}
