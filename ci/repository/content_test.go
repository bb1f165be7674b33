package repository

import (
	"strings"
	"testing"
)

func TestBigFiles(t *testing.T) {
	check(t, BigFiles, map[string]string{
		"a/fits":  strings.Repeat("x", maxBytes),
		"a/large": strings.Repeat("x", maxBytes+1024),
	}, "a/large: 1025 KiB, at most 1024: keep build products out of git")
}

// at joins path elements here, so that this file does not break the rule it tests.
func at(elements ...string) string { return "/" + strings.Join(elements, "/") }

func TestLocalPaths(t *testing.T) {
	found := func(path string) []string {
		return []string{"page.md:2: " + path + " exists on one machine only: use a relative path or an option"}
	}
	tests := map[string]struct {
		line string
		want []string
	}{
		"root's home":         {"see " + at("root", "notes.md") + " there", found(at("root", "notes.md"))},
		"a person's home":     {at("home", "alice", "src"), found(at("home", "alice", "src"))},
		"a mac":               {`"` + at("Users", "bob", "x.go") + `"`, found(at("Users", "bob", "x.go"))},
		"the administrator's": {"(" + at("root", "main", "src") + ")", found(at("root", "main", "src"))},
		"an ordinary folder":  {at("var", "run", "secrets"), nil},
		"part of a URL":       {"https://example.com" + at("work", "main", "x"), nil},
		"relative":            {"." + at("work", "main", "x"), nil},
		"the word alone":      {"/root owns it, /home is shared", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, LocalPaths, map[string]string{"page.md": "title\n" + tt.line + "\n", "lab": "\x00" + tt.line},
				tt.want...)
		})
	}
}
