package document_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
)

// page is what a document needs besides its world, and what its commands print.
type page struct {
	// before are commands that come first, for what the document takes for granted.
	before string
	// replace are the texts that a reader replaces, each followed by what replaces it.
	replace []string
	// after are commands that show the effect of those of the document.
	after string
	// want are patterns in the output, and never are patterns that must not be there.
	want, never []string
	// checkout runs the commands in the repository, and not in a copy of some of its folders.
	checkout bool
	// keep leaves what the commands created for the following documents.
	keep bool
}

// script returns the commands of a document that a test executes, with what comes after them. The commands that are
// executed elsewhere, and those that no test can execute, are left out.
func (p page) script(t *testing.T, root, path string) string {
	t.Helper()
	if path == "" {
		return p.after
	}
	var script strings.Builder
	leaveOut := excluded(t, root)
	for _, block := range blocks(t, root, path) {
		script.WriteString(block.Without(leaveOut))
	}
	text := script.String()
	for i := 0; i+1 < len(p.replace); i += 2 {
		if !strings.Contains(text, p.replace[i]) {
			t.Errorf("%s: no command contains %q any more", path, p.replace[i])
		}
		text = strings.ReplaceAll(text, p.replace[i], p.replace[i+1])
	}
	return text + "\n" + p.after
}

// check wants the output to be what the page says.
func (p page) check(t *testing.T, path, output string) {
	t.Helper()
	for _, pattern := range p.want {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(output) {
			t.Errorf("%s: the commands do not print %q:\n%s", path, pattern, output)
		}
	}
	for _, pattern := range p.never {
		if regexp.MustCompile("(?m)" + pattern).MatchString(output) {
			t.Errorf("%s: the commands print %q:\n%s", path, pattern, output)
		}
	}
}

// blocks are the blocks of commands in a document.
func blocks(t *testing.T, root, path string) []document.Block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	found, err := document.Blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return found
}
