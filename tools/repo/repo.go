// Package repo finds the root folder of this repository, for tools and tests that work on its
// files and may be started from any folder below it, and knows how its programs are compiled.
package repo

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"

// Root returns the absolute path of the repository that contains the working directory. A test calls [checkout.Path] or
// [checkout.DependOn] in addition.
func Root() (string, error) { return checkout.Root() }

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
