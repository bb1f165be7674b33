package testrun

import (
	"errors"
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
	server := serve(t, root, makefile)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// serve is inRun for a Makefile. The test stops the server.
func serve(t *testing.T, root, makefile string) *Server {
	t.Helper()
	for name, text := range map[string]string{"Makefile": makefile, "go.work": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := Serve(t.Context(), root, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(server.Env(), "=")
	t.Setenv(share.AddressEnv, path)
	t.Chdir(root)
	return server
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
		if err == nil {
			err = second(true)
		}
		lent <- err
	}()
	select {
	case err := <-lent:
		t.Errorf("two have it at the same time: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := errors.Join(release(true), <-lent); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "starts")); err != nil || string(text) != "started\n" {
		t.Errorf("it was started by %q, %v, want once", text, err)
	}
}

// TestControlPlaneThatIsNotReturned: the test has not removed what it had made, so the next one gets another.
func TestControlPlaneThatIsNotReturned(t *testing.T) {
	root := inRun(t)
	for _, clean := range []bool{true, false, true} {
		_, release, err := share.Borrow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := release(clean); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "starts")); err != nil || string(text) != "started\nstarted\n" {
		t.Errorf("it was started by %q, %v, want twice", text, err)
	}
}

// TestControlPlaneThatEnds: the next test gets the reason, and so does who stops the server.
func TestControlPlaneThatEnds(t *testing.T) {
	root := t.TempDir()
	server := serve(t, root, strings.Replace(makefile, "exec sleep 1000", "echo no memory >&2; exit 1", 1))
	_, release, err := share.Borrow(t.Context())
	if err != nil && !strings.Contains(err.Error(), "no memory") {
		t.Fatal(err)
	}
	if err == nil {
		<-server.child.Done()
		if err := release(true); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := share.Borrow(t.Context()); err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("the next test gets %v, want why the control plane has ended", err)
	}
	if err := server.Stop(); err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("the end of the run says %v, want why the control plane has ended", err)
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
