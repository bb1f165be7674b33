// Package repo finds the root folder of this repository, for tools and tests that work on its
// files and may be started from any folder below it, and knows how its programs are compiled.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// marker is the file that only the root folder has.
const marker = "go.work"

// Root returns the absolute path of the repository that contains the working directory. Tests
// run in the folder of their package, so it works there as well.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(filepath.Join(at, marker))
		if err == nil && info.Mode().IsRegular() {
			return at, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("finding the repository above %q: %w", dir, err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("finding the repository: no folder from %q upwards has a %s; run this inside a clone",
				dir, marker)
		}
	}
}

// CurrentEnv is the environment variable with the root of a repository in which make has just built the lab and the
// sidecars. The go tool takes seconds to find that out again, which is a third of the start of a control plane.
const CurrentEnv = "LAB_IS_CURRENT_IN"

// KubernetesEnv is the environment variable with the minor version of Kubernetes that the lab is, such as 1.34. Without
// it, or if it is empty, the lab is the one that its go.mod requires. The Makefile sets it from K8S on its command
// line.
const KubernetesEnv = "LAB_KUBERNETES"

// CompilerFlags are the arguments of go build with which everything here is compiled: without debug information, which
// takes a fifth of the compiler's time, and Kubernetes without inlining, which takes an eighth. The Makefile has the
// same in GOFLAGS. Tests, the lab and the programs of a release are compiled alike, so each package is compiled once,
// and what is tested and measured is what is released.
func CompilerFlags() []string {
	return []string{"-gcflags=all=-dwarf=false", "-gcflags=k8s.io/...=-dwarf=false -l"}
}

// TestFlags are the arguments of go test with which everything here is compiled: make verify vets, and these are the
// packages that make build compiles. The Makefile and ci/fuzz.sh have the same.
func TestFlags() []string { return []string{"-trimpath", "-buildvcs=false", "-vet=off"} }
