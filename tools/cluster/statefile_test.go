//go:build linux

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBuiltBuildsNothing: root, say, has no compiler, and what it builds is another user's no more.
func TestBuiltBuildsNothing(t *testing.T) {
	root := t.TempDir()
	c := &Cluster{options: Options{Root: root, Built: true}}
	if _, err := c.build(t.Context()); err == nil || !strings.Contains(err.Error(), "bin/cluster build") {
		t.Errorf("got %v, want what to do", err)
	}
	want := programsOf(root)
	err := os.MkdirAll(want.images, 0o700)
	for _, path := range []string{want.lab, want.agents, want.guest} {
		err = errors.Join(err, os.MkdirAll(path, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.build(t.Context()); err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}

func TestCaller(t *testing.T) {
	for _, test := range []struct {
		name        string
		user        int
		environment map[string]string
		want        owner
	}{
		{"sudo", 0, map[string]string{"SUDO_UID": "1000", "SUDO_GID": "100"}, owner{1000, 100}},
		{"root without sudo", 0, nil, owner{0, 7}},
		{"half of it", 0, map[string]string{"SUDO_UID": "1000"}, owner{0, 7}},
		{"no number", 0, map[string]string{"SUDO_UID": "1000", "SUDO_GID": "staff"}, owner{0, 7}},
		{"sudo to a user who may not give files away", 2000, map[string]string{"SUDO_UID": "1000", "SUDO_GID": "100"},
			owner{2000, 7}},
	} {
		if got := caller(test.user, 7, func(name string) string { return test.environment[name] }); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestOwnersFile is read by its owner alone, and replaces what was there, even a link to another folder.
func TestOwnersFile(t *testing.T) {
	folder := t.TempDir()
	path, outside := filepath.Join(folder, "kubeconfig"), filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.WriteFile(outside, []byte("precious"), 0o600), os.Symlink(outside, path)); err != nil {
		t.Fatal(err)
	}
	me := owner{os.Getuid(), os.Getgid()}
	for _, content := range []string{"first", "second"} {
		if err := me.write(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("its mode is %v: %v", info.Mode(), err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("it has %q and %v, want %q", got, err, content)
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "precious" {
		t.Errorf("where the link led: %q and %v", got, err)
	}
	if err := me.write(filepath.Join(folder, "none", "kubeconfig"), nil); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v and %v", left, err)
	}
}

// TestGiven: files and folders get the owner, and what a link leads to does not.
func TestGiven(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	for _, path := range []string{outside, filepath.Join(folder, "log")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	// An ordinary user can give files to nobody else, and the owner stays the same.
	o := owner{os.Getuid(), os.Getgid()}
	before := owned(t, outside)
	if o.user == 0 {
		o = owner{user: 12345, group: 54321}
	}
	if err := o.take(folder); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]owner{folder: o, filepath.Join(folder, "log"): o, link: o, outside: before} {
		if got := owned(t, path); got != want {
			t.Errorf("%s belongs to %v, want %v", path, got, want)
		}
	}
	if err := o.take(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there was given away")
	}
}

// owned is who owns what is at a path.
func owned(t *testing.T, path string) owner {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	return owner{int(stat.Uid), int(stat.Gid)}
}
