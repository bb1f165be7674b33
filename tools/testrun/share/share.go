// Package share gives a test what the tests of one run share: programs that are built at most once, and a control
// plane. `make test` starts a run (package testrun).
//
//	path, err := share.Make(t.Context(), "bin/thalassa-emulator")
package share

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// AddressEnv is the environment variable with the path of the file that says where the server of the run is. The path
// is the same in each run: another one would be another environment, in which Go reuses no result.
const AddressEnv = "TEST_RUN"

// ErrNoServer is the error of Borrow in a process that no run has started, such as a plain `go test`.
var ErrNoServer = errors.New("no test run shares a control plane: " + AddressEnv + " is empty")

// InRun reports whether a run of the tests of the repository at root has started this process.
func InRun(root string) bool {
	here, err := checkout.Root()
	return err == nil && here == root && os.Getenv(AddressEnv) != ""
}

// Make builds a program of this repository by the target of the Makefile that is its path, such as
// bin/thalassa-emulator, and returns its absolute path. In a run it is built once; otherwise each call asks make. The
// result of the test depends on the sources from then on. The error shows what make wrote.
func Make(ctx context.Context, target string) (path string, err error) {
	root, err := checkout.Root()
	if err != nil {
		return "", err
	}
	checkout.DependOn(sources(target)...)
	if !InRun(root) {
		err = Build(ctx, root, target, os.Stderr)
	} else {
		err = post(ctx, "/make", url.Values{"target": {target}})
	}
	return filepath.Join(root, filepath.FromSlash(target)), err
}

// sources are the folders that a program is built from.
func sources(target string) []string {
	switch name := filepath.Base(target); {
	case strings.HasPrefix(name, "lab"):
		return []string{"tools/lab"}
	case name == "ironcore":
		return []string{"tools/lab/ironcore"}
	case name == "sidecars":
		return []string{"tools/sidecars"}
	case strings.HasPrefix(name, "thalassa-"):
		return []string{"src", "Makefile"}
	}
	return []string{"src", "tools", "Makefile"}
}

// Build runs make for a target that is the path of a program below root. It writes what make writes to out, and also
// into the error.
func Build(ctx context.Context, root, target string, out io.Writer) error {
	if !strings.HasPrefix(target, "bin/") {
		return fmt.Errorf("building %q: what tests start is below bin/", target)
	}
	command := exec.CommandContext(ctx, "make", "--silent", target)
	if minor := os.Getenv(repo.KubernetesEnv); minor != "" {
		command.Args = append(command.Args, "K8S="+minor) // make does not take it from the environment
	}
	command.Dir = root
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=") // not those of the make that runs the tests
	var said bytes.Buffer
	command.Stdout = io.MultiWriter(out, &said)
	command.Stderr = command.Stdout
	if err := command.Run(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", target, err, said.String())
	}
	return nil
}

func post(ctx context.Context, path string, values url.Values) error {
	answer, err := send(ctx, path, values)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// send returns a successful answer.
func send(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	address, err := os.ReadFile(os.Getenv(AddressEnv))
	if err != nil {
		return nil, fmt.Errorf("finding the server of the test run: %w; start tests by make test", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(address)+path,
		strings.NewReader(values.Encode()))
	if err != nil {
		return nil, fmt.Errorf("asking the server of the test run: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // leaves no goroutine
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the server of the test run: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return nil, errors.Join(errors.New(strings.TrimSpace(string(text))), err)
	}
	return answer, nil
}

// Borrow returns the folder of the control plane of the run, which it starts if it does not run yet. No other process
// uses it until release is called, or this process ends. Release reports whether what this process has made in it is
// gone; if not, the next process gets another one. Outside of a run the error is ErrNoServer.
func Borrow(ctx context.Context) (dir string, release func(clean bool) error, err error) {
	checkout.DependOn(sources("bin/lab")...)
	_ = os.Getenv(repo.KubernetesEnv) // the result of the test depends on it
	if os.Getenv(AddressEnv) == "" {
		return "", nil, ErrNoServer
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	answer, err := send(ctx, "/control-plane", nil)
	if err != nil {
		cancel()
		return "", nil, err
	}
	release = func(clean bool) (err error) {
		defer cancel()
		if clean {
			err = post(ctx, "/control-plane/returned", nil)
		}
		return errors.Join(err, answer.Body.Close())
	}
	dir, err = bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("borrowing the control plane of the test run: %w", err), release(false))
	}
	return strings.TrimSpace(dir), release, nil
}
