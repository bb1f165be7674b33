package cloud

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elsewhere are files that exist only in a test.
type elsewhere map[string]string

func (e elsewhere) Open(path string) (io.ReadCloser, error) {
	text, exists := e[path]
	if !exists {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (e elsewhere) Resolve(directory string) (string, error) { return directory, nil }

func TestEnvironmentOfAnotherProcess(t *testing.T) {
	e := Environment{Files: elsewhere{"/a/b": "text"}, Variable: strings.ToLower}
	file, err := e.Open("/a/b")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil || string(text) != "text" || e.Getenv("X") != "x" || e.Own() {
		t.Errorf("file %q, error %v, variable %q, own %t", text, err, e.Getenv("X"), e.Own())
	}
	if _, err := e.Open(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("a file of this process: error %v", err)
	}
}

// TestResolve follows the link that the kubelet changes when it updates a Secret.
func TestResolve(t *testing.T) {
	var e Environment
	plain := t.TempDir()
	if got, err := e.Resolve(plain); err != nil || got != plain {
		t.Errorf("a plain directory leads to %q, error %v", got, err)
	}
	mounted := t.TempDir()
	data := filepath.Join(mounted, "..1")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..1", filepath.Join(mounted, "..data")); err != nil {
		t.Fatal(err)
	}
	if got, err := e.Resolve(mounted); err != nil || got != data {
		t.Errorf("a mounted directory leads to %q, error %v, want %s", got, err, data)
	}
	if _, err := e.Resolve(filepath.Join(plain, "none")); !os.IsNotExist(err) {
		t.Errorf("a directory that does not exist: error %v", err)
	}
}
