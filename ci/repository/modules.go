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
	"strings"
)

// ours is where the modules of this repository live.
const ours = "github.com/thalassa-cloud/thalassa-ccm/"

// lab is the one module that must replace foreign modules: k8s.io/kubernetes requires its staging modules at
// versions that do not exist.
const lab = "tools/lab"

// module is what `go mod edit -json` says, as far as it is needed here.
type module struct {
	Replace []struct {
		Old, New struct{ Path string }
	}
}

// Replaces finds replace lines that point anywhere but at our own modules, and own modules that live elsewhere.
func Replaces(ctx context.Context, root string) ([]Finding, error) {
	var found []Finding
	isModule := func(p string) bool { return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/") }
	err := files(os.DirFS(root), isModule, func(p string) error {
		m, err := readModule(ctx, filepath.Join(root, p))
		if err != nil {
			return err
		}
		for _, r := range m.Replace {
			if foreign(r.Old.Path, r.New.Path) && path.Dir(p) != lab {
				found = append(found, Finding{p, 0, fmt.Sprintf("replaces %s by %s: only our own modules may be replaced, by their own folders", r.Old.Path, r.New.Path)})
			}
		}
		return nil
	})
	return sorted(found), err
}

// foreign tells whether a replace line concerns anything but one of our modules and a folder beside it.
func foreign(from, to string) bool {
	return !strings.HasPrefix(from, ours) || !strings.HasPrefix(to, "../")
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
