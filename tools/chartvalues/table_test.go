package chartvalues

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const exampleTable = "| Value | Default | Meaning |\n|---|---|---|\n" +
	"| `global.registry` | `\"\"` | Registry |\n" +
	"| `name` | required | Name of the thing, e.g. web |\n" +
	"| `kind` | of the profile | Which kind: one\\|two. null: of the profile |\n" +
	"| `either` | `one` | One of two |\n" +
	"| `section.interval` | `5` | Interval between two checks, in seconds |\n" +
	"| `section.skip` | `false` | Skips the check |\n" +
	"| `section.endpoint` | `https://example.com` | Where it is |\n" +
	"| `friends` | `[]` | Names of friends |\n" +
	"| `labels` | `{}` | Labels |\n" +
	"| `resources` | `{requests: {cpu: 50m}}` | What the container gets |\n"

func TestTable(t *testing.T) {
	if diff := cmp.Diff(exampleTable, parse(t, example).Table()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestSentences: a sentence ends with one full stop; several leave something out and stay.
func TestSentences(t *testing.T) {
	for comment, want := range map[string]string{
		"Name of it.":                              "Name of it",
		"Name of it. More.":                        "Name of it",
		"Name, e.g. web. More.":                    "Name, e.g. web",
		"Identity, sa-... Required when enabled.":  "Identity, sa-...",
		"Identity, sa-...":                         "Identity, sa-...",
		"Version 1.2 of it. \"More\" than before.": "Version 1.2 of it",
	} {
		if got := (&Value{Comment: comment}).sentence(); got != want {
			t.Errorf("%q begins with the sentence %q, want %q", comment, got, want)
		}
	}
}

func TestDefaultsInTheTable(t *testing.T) {
	for text, want := range map[string]string{
		`""`: "`\"\"`", "null": "`null`", `"5"`: "`5`", "[443, 6443]": "`[443, 6443]`",
		"{a: [{b: c}], d: 50m}": "`{a: [{b: c}], d: 50m}`",
	} {
		if got := parse(t, "# A.\n# @schema {}\na: "+text+"\n").Leaves()[0].shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestInsert(t *testing.T) {
	page := "# A\n\n" + Start + "old\n" + End + "after\n"
	got, err := parse(t, example).Insert([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if want := "# A\n\n" + Start + "\n" + exampleTable + "\n" + End + "after\n"; string(got) != want {
		t.Errorf("page %q, want %q", got, want)
	}
	again, err := parse(t, example).Insert(got)
	if err != nil || string(again) != string(got) {
		t.Errorf("a second time makes %q of it, error %v", again, err)
	}
	for _, broken := range []string{"# A\n", "# A\n" + Start, End + Start} {
		if _, err := parse(t, example).Insert([]byte(broken)); err == nil ||
			!strings.Contains(err.Error(), "lacks the line") {
			t.Errorf("%q gives the error %v", broken, err)
		}
	}
}
