package document_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
)

func TestBlocks(t *testing.T) {
	text := strings.ReplaceAll(`# Page

'''sh
one --flag \
  two
'''

1. First:

   '''sh
   three

     indented
   '''
2. '''bash
   four
   '''

'''yaml
sh: "'''sh"
'''
`, "'''", "```")
	got, err := document.Blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []document.Block{{4, "one --flag \\\n  two\n"}, {11, "three\n\n  indented\n"}, {16, "four\n"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if _, err := document.Blocks("```sh\nls\n"); err == nil || !strings.Contains(err.Error(), "line 1 has no end") {
		t.Errorf("a block without an end gives %v", err)
	}
}

// TestWithout leaves out whole commands, and nothing else.
func TestWithout(t *testing.T) {
	block := document.Block{Script: "one \\\n  --flag # why\ntwo\n\nif one --flag; then\n"}
	got := block.Without(func(command string) bool { return command == "one --flag" })
	if want := "two\n\nif one --flag; then\n"; got != want {
		t.Errorf("script %q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	got := document.Lines("# all\none \\\n  --two   # why\n\nthree '#'\n")
	if want := []string{"one --two", "three '#'"}; !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
}

// TestShell: a script ends at a command that fails, and at one that prints nothing although that is its purpose.
func TestShell(t *testing.T) {
	shell := document.Shell{Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Before: "name=value"}
	for script, want := range map[string]bool{
		"echo $name | grep value":               true,
		"false\ntrue":                           false,
		"echo a | grep b | cat":                 false,
		"refused false":                         true,
		"refused true":                          false,
		`echo '{"a": 1}' | jq .a`:               true,
		`echo '{"a": 1}' | jq '.[] | empty'`:    false,
		"curl() { shown true; }\ncurl http://x": false,
		"curl file:///dev/null":                 false,
		"curl --output file file:///dev/null":   true,
		"echo $undefined":                       false,
	} {
		_, log, err := shell.Run(t.Context(), script)
		if (err == nil) != want {
			t.Errorf("%q gives %v:\n%s", script, err, log)
		}
	}
	// A command that reads its input does not read the commands behind it.
	printed, log, err := shell.Run(t.Context(), "cat\necho $name # comment\necho error >&2")
	if err != nil || printed != "value\n" {
		t.Errorf("printed %q, error %v", printed, err)
	}
	for _, want := range []string{"cat\n", "echo $name # comment\n", "value\n", "echo error >&2\n", "\nerror\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("log %q lacks %q", log, want)
		}
	}
}
