package volume

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read returns what a reader of a volume sees, by path, and the modes of the files.
func read(t *testing.T, dir string) (texts map[string]string, modes map[string]fs.FileMode) {
	t.Helper()
	texts, modes = map[string]string{}, map[string]fs.FileMode{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		root, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			name := e.Name() + strings.TrimPrefix(path, root)
			texts[name], modes[name] = string(data), info.Mode().Perm()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts, modes
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	steps := []struct {
		name string
		p    payload
	}{
		{"first", payload{"a": {[]byte("1"), 0o644}, "deep/er/b": {[]byte("2"), 0o400}}},
		{"other content", payload{"a": {[]byte("3"), 0o644}, "deep/er/b": {[]byte("2"), 0o400}}},
		{"other mode", payload{"a": {[]byte("3"), 0o600}, "deep/er/b": {[]byte("2"), 0o400}}},
		{"added and removed", payload{"c": {[]byte("4"), 0o644}, "deep/b": {[]byte("5"), 0o644}}},
		{"a directory becomes a file", payload{"c": {[]byte("4"), 0o644}, "deep": {[]byte("6"), 0o644}}},
		{"empty", payload{}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			before, _ := os.Readlink(dir)
			if err := write(dir, step.p); err != nil {
				t.Fatal(err)
			}
			texts, modes := map[string]string{}, map[string]fs.FileMode{}
			for name, f := range step.p {
				texts[name], modes[name] = string(f.data), f.mode
			}
			gotTexts, gotModes := read(t, dir)
			if diff := cmp.Diff(texts, gotTexts); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			data, err := filepath.EvalSymlinks(filepath.Join(dir, current))
			if whole, _ := filepath.EvalSymlinks(dir); err != nil || data != whole {
				t.Errorf("%s leads to %s, %v; want %s", current, data, err, whole)
			}
			if diff := cmp.Diff(modes, gotModes); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
			after, err := os.Readlink(dir)
			if err != nil || before == after {
				t.Errorf("version went from %q to %q, %v", before, after, err)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "..version-*"))
			if err != nil || len(left) != 1 {
				t.Errorf("versions on disk: %v, %v; want only the present one", left, err)
			}
		})
	}
}

// A reader who opens the directory behind the link once sees files that belong together.
func TestWriteAtomic(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	version := func(text string) payload {
		return payload{"user": {[]byte(text), 0o644}, "password": {[]byte(text), 0o644}}
	}
	if err := write(dir, version("0")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			root, err := os.OpenRoot(filepath.Join(dir, current))
			if err != nil {
				continue // the version vanished between following the link and opening it
			}
			user, userErr := root.ReadFile("user")
			password, passwordErr := root.ReadFile("password")
			_ = root.Close()
			// A version may vanish while it is read; a mixture may not appear.
			if userErr == nil && passwordErr == nil && string(user) != string(password) {
				t.Errorf("read user of version %s and password of version %s", user, password)
				return
			}
		}
	})
	for i := range 200 {
		if err := write(dir, version(strings.Repeat("x", i%7+1))); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	reading.Wait()
}

func TestPayloadAdd(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../a", "/a", "a/../../b", "..data/a"} {
		p := payload{}
		if err := p.add(name, "", 0o644); err == nil {
			t.Errorf("add(%q) gave no error; it leads out of the volume", name)
		}
	}
	p := payload{}
	if err := p.add("a/./b", "", 0o644); err != nil || len(p) != 1 {
		t.Errorf("add = %v, %v; want a/b", p, err)
	}
}
