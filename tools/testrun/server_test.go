package testrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun/share"
)

// makefile counts how often a program is built, and has one that cannot be.
const makefile = `bin/program:
	@mkdir -p bin; echo built >> bin/program
bin/broken:
	@echo no compiler; exit 1
bin/controlplane:
	@mkdir -p bin; printf '#!/bin/sh\necho started >> starts; echo ready; exec sleep 1000\n' > $@; chmod +x $@
.PHONY: bin/program bin/broken
`

// inRun starts a run for a repository with that Makefile, and makes this process one that the run has started.
func inRun(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{"Makefile": makefile, "go.work": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := Serve(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	_, path, _ := strings.Cut(server.Env(), "=")
	t.Setenv(share.AddressEnv, path)
	t.Chdir(root)
	return root
}

// TestMakeBuildsOnce: however many tests of a run need a program, it is built once.
func TestMakeBuildsOnce(t *testing.T) {
	root := inRun(t)
	for range 3 {
		path, err := share.Make(t.Context(), "bin/program")
		if err != nil || path != filepath.Join(root, "bin/program") {
			t.Fatalf("%q and %v", path, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "bin/program")); err != nil || string(text) != "built\n" {
		t.Errorf("it was built by %q, %v, want once", text, err)
	}
	if _, err := share.Make(t.Context(), "bin/broken"); err == nil || !strings.Contains(err.Error(), "no compiler") {
		t.Errorf("a program that cannot be built: %v", err)
	}
	if _, err := share.Make(t.Context(), "clean"); err == nil {
		t.Error("a target that is no program was made")
	}
}

// TestControlPlaneIsLent to one process after the other, and is started once, when the first asks for it.
func TestControlPlaneIsLent(t *testing.T) {
	root := inRun(t)
	if _, err := os.Stat(filepath.Join(root, "starts")); err == nil {
		t.Error("it was started before anybody asked for it")
	}
	dir, release, err := share.Borrow(t.Context())
	if want := filepath.Join(root, "dist", folder(os.Geteuid()), "control-plane"); err != nil || dir != want {
		t.Fatalf("%q and %v, want %q", dir, err, want)
	}
	lent := make(chan error)
	go func() {
		_, second, err := share.Borrow(t.Context())
		lent <- err
		second()
	}()
	select {
	case err := <-lent:
		t.Errorf("two have it at the same time: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	release()
	if err := <-lent; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "starts")); err != nil || string(text) != "started\n" {
		t.Errorf("it was started by %q, %v, want once", text, err)
	}
}

// TestControlPlaneThatDoesNotStart: the test gets the reason.
func TestControlPlaneThatDoesNotStart(t *testing.T) {
	root := inRun(t)
	if err := os.WriteFile(filepath.Join(root, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := share.Borrow(t.Context()); err == nil || !strings.Contains(err.Error(), "bin/controlplane") {
			t.Errorf("got %v, want that bin/controlplane cannot be built", err)
		}
	}
}

// TestStrangersAreRefused: who cannot read the file with the address gets nothing built.
func TestStrangersAreRefused(t *testing.T) {
	root := inRun(t)
	file := filepath.Join(root, "dist", folder(os.Geteuid()), "server")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the address: %v, %v", info.Mode(), err)
	}
	_, host, _ := strings.Cut(string(text), "@")
	if err := os.WriteFile(file, []byte("http://test:other@"+host), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := share.Make(t.Context(), "bin/program"); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("another secret: %v", err)
	}
}
