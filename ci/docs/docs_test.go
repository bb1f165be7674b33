package docs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/docs"
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
	got, err := docs.Blocks(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []docs.Block{{4, "one --flag \\\n  two\n"}, {11, "three\n\n  indented\n"}, {16, "four\n"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if _, err := docs.Blocks("```sh\nls\n"); err == nil || !strings.Contains(err.Error(), "line 1 has no end") {
		t.Errorf("a block without an end gives %v", err)
	}
}

// TestWithout leaves out whole commands of one program, and nothing else.
func TestWithout(t *testing.T) {
	block := docs.Block{Script: "make \\\n  --flag # why\ntwo make\n\nmaker \\\n  make\nmake it\n"}
	if got, want := block.Without("make"), "two make\n\nmaker \\\n  make\n"; got != want {
		t.Errorf("script %q, want %q", got, want)
	}
}

// TestShell: a script ends at a command that fails, and at one that prints nothing although that is its purpose.
func TestShell(t *testing.T) {
	shell := docs.Shell{Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Before: "name=value"}
	for script, want := range map[string]bool{
		"[[ $name == value ]]":                   true,
		"false\ntrue":                            false,
		"false | cat":                            false,
		"kubectl() { shown true; }\nkubectl get": false,
		`echo '{"a": 1}' | jq .a`:                true,
		`echo '{"a": 1}' | jq '.[] | empty'`:     false,
		"curl() { shown true; }\ncurl http://x":  false,
		"curl file:///dev/null":                  false,
		"curl --output file file:///dev/null":    true,
		"echo $undefined":                        false,
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
