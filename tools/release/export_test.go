package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a git repository with one commit of the given files.
func clone(t *testing.T, files map[string]string) (root, revision string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, root, "init", "--quiet")
	runGit(t, root, "add", "--all")
	runGit(t, root, "commit", "--quiet", "--message=all")
	return root, strings.TrimSpace(runGit(t, root, "rev-parse", "HEAD"))
}

// runGit runs git without anybody's settings.
func runGit(t *testing.T, root string, arguments ...string) string {
	t.Helper()
	who := []string{"-C", root, "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c",
		"commit.gpgsign=false", "-c", "tag.gpgsign=false"}
	command := exec.CommandContext(t.Context(), "git", append(who, arguments...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
	return string(output)
}

// TestExport: what is not committed stays out, be it new, changed or ignored.
func TestExport(t *testing.T) {
	root, revision := clone(t, map[string]string{"a.txt": "committed", "deep/er/b.txt": "b", ".gitignore": ".env\n"})
	for name, content := range map[string]string{"a.txt": "changed", "new.go": "package oops",
		"deep/.env": "SECRET=1"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := Export(t.Context(), root, revision)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if text, err := os.ReadFile(filepath.Join(folder, "a.txt")); err != nil || string(text) != "committed" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "deep", "er", "b.txt")); err != nil {
		t.Error(err)
	}
	if status := runGit(t, root, "status", "--porcelain"); status != " M a.txt\n?? new.go\n" {
		t.Errorf("the clone has become\n%s", status)
	}
	if _, err := os.Stat(folder + ".index"); !os.IsNotExist(err) {
		t.Errorf("the index is left behind: %v", err)
	}
	for _, name := range []string{"new.go", "deep/.env"} {
		if _, err := os.Stat(filepath.Join(folder, name)); !os.IsNotExist(err) {
			t.Errorf("%s is exported, or %v", name, err)
		}
	}
}

func TestExportOfNothing(t *testing.T) {
	if _, err := Export(t.Context(), t.TempDir(), strings.Repeat("0a", 20)); err == nil ||
		!strings.Contains(err.Error(), "git read-tree") {
		t.Errorf("outside git: %v", err)
	}
	root, _ := clone(t, map[string]string{"target": "x"})
	if err := os.Symlink("target", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	runGit(t, root, "add", "--all")
	runGit(t, root, "commit", "--quiet", "--message=link")
	if _, err := Export(t.Context(), root, "HEAD"); err == nil ||
		!strings.Contains(err.Error(), "link is neither a file nor a folder") {
		t.Errorf("a symbolic link: %v", err)
	}
}

func TestCheckTag(t *testing.T) {
	root, revision := clone(t, map[string]string{"a.txt": "a"})
	if err := CheckTag(t.Context(), root, "v1.0.0", revision); err == nil ||
		!strings.Contains(err.Error(), "there is no tag v1.0.0") {
		t.Errorf("without a tag: %v", err)
	}
	runGit(t, root, "tag", "--annotate", "--message=x", "v1.0.0")
	if err := CheckTag(t.Context(), root, "v1.0.0", revision); err != nil {
		t.Errorf("with a tag: %v", err)
	}
	runGit(t, root, "commit", "--quiet", "--allow-empty", "--message=more")
	head := strings.TrimSpace(runGit(t, root, "rev-parse", "HEAD"))
	if err := CheckTag(t.Context(), root, "v1.0.0", head); err == nil ||
		!strings.Contains(err.Error(), "its tag is on "+revision) {
		t.Errorf("after another commit: %v", err)
	}
}
