package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// kubernetesVersion finds the version of Kubernetes in the lab's go.mod.
var kubernetesVersion = regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes v(\d+)\.(\d+)\.(\S+)`)

// chooseKubernetes sets which version of Kubernetes the lab is: that of its go.mod, or the minor version that the
// environment asks for, of which there is a k8s-1.34.mod beside it.
func (b *builder) chooseKubernetes() error {
	folder := filepath.Join(b.root, "tools", b.module)
	version, err := requiredKubernetes(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	minor := os.Getenv(repo.KubernetesEnv)
	if minor != "" && minor != version[1]+"."+version[2] {
		file := "k8s-" + minor + ".mod"
		b.options, b.program = []string{"-modfile=" + file}, b.program+"-"+minor
		if version, err = requiredKubernetes(filepath.Join(folder, file)); err != nil {
			return fmt.Errorf("%w; %s is %q: use a minor version that tools/lab has a file of, such as 1.34",
				err, repo.KubernetesEnv, minor)
		}
	}
	// Kubernetes' own build stamps its version the same way: without it, the API server says v0.0.0, and charts that
	// ask for a version refuse the cluster.
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		b.stamp += fmt.Sprintf(" -X %s.gitMajor=%s -X %s.gitMinor=%s -X %s.gitVersion=v%s", pkg, version[1], pkg,
			version[2], pkg, strings.Join(version[1:], "."))
	}
	return nil
}

// requiredKubernetes is the version of Kubernetes that a go.mod requires, as major, minor and the rest after itself.
func requiredKubernetes(path string) ([]string, error) {
	mod, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("finding the version of Kubernetes: %w", err)
	}
	version := kubernetesVersion.FindStringSubmatch(string(mod))
	if version == nil {
		return nil, fmt.Errorf("finding the version of Kubernetes: %q requires no k8s.io/kubernetes", path)
	}
	return version, nil
}
