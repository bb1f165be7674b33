package document_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
)

// blockCommands are the commands in the blocks of all documents.
func blockCommands(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for path := range documents(t, root) {
		for _, block := range blocks(t, root, path) {
			for _, command := range document.Lines(block.Script) {
				all[command] = true
			}
		}
	}
	for _, steps := range steps(t, root) {
		for _, command := range steps {
			all[command] = true
		}
	}
	return all
}

// words are those of a command without the variables that it sets, which come first.
func words(command string) []string {
	all := strings.Fields(command)
	for len(all) > 1 && regexp.MustCompile(`^\w+=`).MatchString(all[0]) {
		all = all[1:]
	}
	return all
}

// ofCluster reports whether a command is of a program that runs in any cluster.
func ofCluster(command string) bool {
	return slices.Contains([]string{"kubectl", "helm", "kustomize"}, words(command)[0])
}

// isCommand reports whether code in running text is a command: it begins with a program, or with a word that an option
// follows. For kubectl, Helm and Kustomize it has more than a verb: `kubectl drain` is the name of a command.
func isCommand(span string, programs map[string]bool) bool {
	all := words(span)
	switch program := all[0]; {
	case ofCluster(span):
		return len(all) > 2
	case len(all) == 1 || !regexp.MustCompile(`^[a-z.][\w./-]*$`).MatchString(program):
		return false
	case programs[program] || strings.Contains(program, "/"):
		return true
	}
	return slices.ContainsFunc(all[1:], func(word string) bool { return strings.HasPrefix(word, "-") })
}

// inline are the commands in the running text of all documents, each with the documents that have it. The programs are
// those of the blocks, and those that only text names. Except for programs of a cluster, it leaves out what blocks
// have, and the names of other commands, which begin with them: `make release`.
func inline(t *testing.T, root string) map[string][]string {
	t.Helper()
	programs := map[string]bool{"crane": true, "ctr": true, "gh": true, "terraform": true,
		"thalassa-emulator": true}
	inBlocks := blockCommands(t, root)
	for command := range inBlocks {
		programs[words(command)[0]] = true
	}
	all := map[string][]string{}
	for _, path := range markdown(t, root) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range document.Spans(string(text)) {
			if isCommand(span, programs) {
				all[span] = append(all[span], path)
			}
		}
	}
	longer := slices.AppendSeq(slices.Collect(maps.Keys(all)), maps.Keys(inBlocks))
	maps.DeleteFunc(all, func(command string, _ []string) bool {
		return !ofCluster(command) && (inBlocks[command] ||
			slices.ContainsFunc(longer, func(other string) bool { return strings.HasPrefix(other, command+" ") }))
	})
	return all
}

func TestInline(t *testing.T) {
	root := t.TempDir()
	text := "Run `kubectl get\n  pods` or `kubectl drain`, or `make x`, `make y` and `A=b bin/x y`:\n\n1. First:\n\n" +
		"   ```sh\n   : `kubectl get x`\n   make x A=b\n   ```\n2. `kubectl get\n   pods`, `new pull --all`,\n" +
		"   `load balancer`, `a: --b`, `crane pull x` and `A=b c: d`\n"
	if err := os.WriteFile(filepath.Join(root, "page.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	want := map[string][]string{"kubectl get pods": {"page.md", "page.md"}, "make y": {"page.md"},
		"A=b bin/x y": {"page.md"}, "new pull --all": {"page.md"}, "crane pull x": {"page.md"}}
	if diff := cmp.Diff(want, inline(t, root)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
