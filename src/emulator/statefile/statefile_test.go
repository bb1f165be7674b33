package statefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// open opens a state file until the test ends.
func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// slug is that of the only organisation of the state in a file.
func slug(t *testing.T, f *File) string {
	t.Helper()
	state, found, err := f.Read()
	if err != nil || !found {
		t.Fatalf("reading the state: found %t, %v", found, err)
	}
	return state.Organisations[0].Slug
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	f := open(t, path)
	if _, found, err := f.Read(); err != nil || found {
		t.Fatalf("a new file: found %t, %v", found, err)
	}
	state := seed.Default()
	for _, want := range []string{"one", "two"} {
		state.Organisations[0].Slug = want
		if err := f.Write(state); err != nil || slug(t, f) != want {
			t.Errorf("the file has organisation %q, %v, want %q", slug(t, f), err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600, because the file has credentials", info.Mode(), err)
	}
	if err := f.Write(state); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(info, again) {
		t.Errorf("a state that is the same was written again: %v", err)
	}
}

// A process that is killed between writing and renaming leaves the older state.
func TestKilledBeforeTheRename(t *testing.T) {
	// The name is no pattern.
	path := filepath.Join(t.TempDir(), "[state]*.yaml")
	f := open(t, path)
	state := seed.Default()
	if err := f.Write(state); err != nil {
		t.Fatal(err)
	}
	left, err := f.stage([]byte("half of a st"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	next := open(t, path)
	if slug(t, next) != state.Organisations[0].Slug {
		t.Error("the older state was lost")
	}
	if err := next.Write(state); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// TestOtherFilesStay: what a user keeps beside the state file is not removed.
func TestOtherFilesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	backup := path + ".new-backup"
	if err := os.WriteFile(backup, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Write(seed.Default()); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(backup); err != nil || string(content) != "mine" {
		t.Errorf("%s has %q, %v", backup, content, err)
	}
}

// TestOtherNewFileStays: without a lock there was no emulator, so that a file with the name of the next state is the
// user's.
func TestOtherNewFileStays(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "state.yaml")
	if err := os.WriteFile(path+".new", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(path); err == nil || !strings.Contains(err.Error(), path+".new exists") ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v, %v, want what to do about the file", f, err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v, want that of the user", files, err)
	}
}

// TestLink: two names of one file are one file, with one lock, that other users cannot read after it was found to be a
// state.
func TestLink(t *testing.T) {
	folder := t.TempDir()
	target, link := filepath.Join(folder, "state.yaml"), filepath.Join(folder, "link.yaml")
	first := open(t, target)
	if err := first.Write(seed.Default()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(target, link), os.Chmod(target, 0o644)); err != nil {
		t.Fatal(err)
	}
	if second, err := Open(link); err == nil || !strings.Contains(err.Error(), "stop the other emulator") {
		t.Errorf("a second process got %v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, state := open(t, link), seed.Default()
	got := slug(t, second)
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v, want that it is unchanged", info.Mode(), err)
	}
	if err := second.Write(state); err != nil || got != state.Organisations[0].Slug {
		t.Errorf("organisation %q, %v", got, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600, because the file has credentials", info.Mode(), err)
	}
	state.Organisations[0].Slug = "next"
	if err := second.Write(state); err != nil || slug(t, second) != "next" {
		t.Errorf("organisation %q, %v, want that of the write", slug(t, second), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

// A link to a file that does not exist yet stays a link, and so does one whose folder is reached by a link.
func TestLinkToNewFile(t *testing.T) {
	folder := t.TempDir()
	target, inner := filepath.Join(folder, "state.yaml"), filepath.Join(folder, "a", "b")
	if err := errors.Join(os.MkdirAll(inner, 0o700), os.Symlink(inner, filepath.Join(folder, "short")),
		os.Symlink(target, filepath.Join(folder, "a", "absolute")),
		os.Symlink("../absolute", filepath.Join(inner, "link"))); err != nil {
		t.Fatal(err)
	}
	f := open(t, filepath.Join(folder, "short", "link"))
	if err := f.Write(seed.Default()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(target); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s: %v, want the state", target, err)
	}
}

func TestOneProcessOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	first := open(t, path)
	if second, err := Open(path); err == nil || !strings.Contains(err.Error(), "stop the other emulator") {
		t.Errorf("a second process got %v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestDamagedFilesStay(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"empty":   {"", "cut off"},
		"cut off": {"organisations:\n- name: x\n", "cut off"},
		"no YAML": {"organisations: [\n...\n", "yaml"},
		"key":     {"dragons: 3\n...\n", "dragons"},
		"newer":   {"version: 99\ndragons: 3\n...\n", "version is 99, and this emulator knows versions up to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.yaml")
			if err := errors.Join(os.WriteFile(path, []byte(test.content), 0o600), os.Chmod(path, 0o644)); err != nil {
				t.Fatal(err)
			}
			_, _, err := open(t, path).Read()
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "move it away") {
				t.Errorf("error %v, want %q and what to do", err, test.want)
			}
			if content, err := os.ReadFile(path); err != nil || string(content) != test.content {
				t.Errorf("the file has %q, %v", content, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("mode %v, %v, want that it is unchanged", info.Mode(), err)
			}
		})
	}
}

func TestFolderThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "state.yaml")); err == nil ||
		!strings.Contains(err.Error(), "a folder that") {
		t.Errorf("below a regular file: %v", err)
	}
}

// A write that fails keeps the older state, and says what to do.
func TestWriteThatFails(t *testing.T) {
	folder := t.TempDir()
	f := open(t, filepath.Join(folder, "state.yaml"))
	if err := f.Write(seed.Default()); err != nil {
		t.Fatal(err)
	}
	// As if the folder had become one that no file can be made in.
	f.path = filepath.Join(folder, "state.yaml", "below")
	state := seed.Default()
	state.Organisations[0].Slug = "new"
	if err := f.Write(state); err == nil || !strings.Contains(err.Error(), "free space") {
		t.Errorf("error %v, want what to do", err)
	}
	f.path = filepath.Join(folder, "state.yaml")
	if got := slug(t, f); got != seed.DefaultOrganisationSlug {
		t.Errorf("organisation %q, want the older state", got)
	}
}
