package document_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// markdown are the Markdown files of the repository.
func markdown(t *testing.T, root string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(output))
}

// documents are the Markdown files that have blocks of commands.
func documents(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, path := range markdown(t, root) {
		if len(blocks(t, root, path)) > 0 {
			all[path] = true
		}
	}
	return all
}

// TestDocuments executes the commands of all documents that no other test executes. A document without a page is about
// a cluster in which the chart is installed, with the Service web and the Nodes worker-1 and worker-7.
func TestDocuments(t *testing.T) {
	w := newWorld(t)
	rest := documents(t, w.root)
	maps.DeleteFunc(rest, func(path string, _ bool) bool { return documentsElsewhere()[path] != "" })
	take := func(t *testing.T, path string, p page) {
		t.Helper()
		if !rest[path] {
			t.Errorf("%s has no commands any more: remove its page", path)
		}
		delete(rest, path)
		t.Run(path, func(t *testing.T) { w.execute(t, path, p) })
	}
	pages := installations()
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		take(t, path, pages[path])
	}
	const readme, last = "charts/thalassa-ccm/README.md", "docs/guides/uninstall.md"
	w.install(t, readme)
	delete(rest, readme)
	delete(rest, last)
	pages = running()
	for path := range rest {
		pages[path] = page{}
	}
	maps.Copy(pages, running())
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		take(t, path, pages[path])
	}
	t.Run("inline", w.runInline)
	rest[last] = true
	take(t, last, removal())
}
