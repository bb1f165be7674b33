package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ours is where the modules of this repository live.
const ours = "github.com/thalassa-cloud/thalassa-ccm/"

// linkKubernetes are the modules that must replace foreign modules: k8s.io/kubernetes requires its staging modules at
// versions that do not exist.
func linkKubernetes() []string { return []string{"tools/lab", "tools/conformance/suite"} }

// standalone is the module that other projects use on its own: it has no replace line, which they would ignore.
const standalone = "src/emulator"

// module is what `go mod edit -json` says, as far as it is needed here.
type module struct {
	Replace []struct {
		Old, New struct{ Path string }
	}
}

// Replaces finds replace lines that point anywhere but at our own modules, and own modules that are at another place.
func Replaces(ctx context.Context, root string) ([]Finding, error) {
	var found []Finding
	isModule := func(p string) bool { return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/") }
	err := files(os.DirFS(root), isModule, func(p string) error {
		m, err := readModule(ctx, filepath.Join(root, p))
		if err != nil {
			return err
		}
		for _, r := range m.Replace {
			if why := forbiddenReplace(path.Dir(p), r.Old.Path, r.New.Path); why != "" {
				found = append(found, Finding{p, 0, fmt.Sprintf("replaces %s by %s: %s", r.Old.Path, r.New.Path, why)})
			}
		}
		return nil
	})
	return sorted(found), err
}

// forbiddenReplace is the reason why a module in dir may not replace a module; it is empty if it may.
func forbiddenReplace(dir, from, to string) string {
	folder := strings.TrimPrefix(from, ours)
	switch {
	case dir == standalone:
		return "other projects use this module, and a replace line has no effect on them"
	case !slices.Contains(linkKubernetes(), dir) && (folder == from || path.Join(dir, to) != folder):
		return "only our own modules may be replaced, by their own folders"
	}
	return ""
}

// Foreign finds modules in the graph of the standalone module at root that its users must not inherit: those of
// Kubernetes, and the other modules of this repository.
func Foreign(ctx context.Context, root string) ([]Finding, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}", "all")
	cmd.Dir, cmd.Env = filepath.Join(root, standalone), append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the module graph of %s: %w: %s", standalone, err,
			strings.TrimSpace(stderr.String()))
	}
	var found []Finding
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		domain, _, _ := strings.Cut(name, "/")
		if domain == "k8s.io" || domain == "sigs.k8s.io" || strings.HasPrefix(name, ours) && name != ours+standalone {
			found = append(found, Finding{standalone + "/go.mod", 0, "requires " + name +
				": users of the module would inherit it"})
		}
	}
	return found, nil
}

// readModule lets the go command read a go.mod, so that no second parser can differ from it.
func readModule(ctx context.Context, file string) (module, error) {
	var m module
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return m, fmt.Errorf("reading %s: %w: %s", file, err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("reading %s: %w", file, err)
	}
	return m, nil
}
