package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const (
	// ours is where the modules of this repository live.
	ours = "github.com/thalassa-cloud/thalassa-ccm/"
	// standalone is the module that other projects use on its own.
	standalone = "src/emulator"
)

// Modules finds lines in go.mod files that others, or a build outside of this repository, would suffer from.
// gomoddirectives checks one module of a workspace only.
func Modules(t *Tree) []string {
	var out []string
	for p, content := range t.files {
		if path.Base(p) != "go.mod" || strings.Contains(p, "testdata/") {
			continue
		}
		module, err := modfile.Parse(p, content, nil)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for _, r := range module.Replace {
			if why := forbiddenReplace(path.Dir(p), r.Old.Path, r.New.Path); why != "" {
				out = append(out, fmt.Sprintf("%s: replaces %s by %s: %s", p, r.Old.Path, r.New.Path, why))
			}
		}
		for _, r := range module.Require {
			if path.Dir(p) == standalone && isForeign(r.Mod.Path) {
				out = append(out, fmt.Sprintf("%s: requires %s: users of the module would inherit it", p, r.Mod.Path))
			}
		}
	}
	return out
}

// forbiddenReplace is the reason why a module in dir may not replace a module; it is empty if it may. k8s.io/kubernetes
// requires its staging modules at versions that do not exist, so that what links it must replace them.
func forbiddenReplace(dir, from, to string) string {
	folder := strings.TrimPrefix(from, ours)
	switch {
	case dir == standalone:
		return "other projects use this module, and a replace line has no effect on them"
	case slices.Contains([]string{"tools/lab", "tools/conformance/suite"}, dir):
		return ""
	case folder == from || path.Join(dir, to) != folder:
		return "only our own modules may be replaced, by their own folders"
	}
	return ""
}

// isForeign returns whether the standalone module may not require a module: one of Kubernetes, or another one of ours.
func isForeign(module string) bool {
	domain, _, _ := strings.Cut(module, "/")
	return domain == "k8s.io" || domain == "sigs.k8s.io" || strings.HasPrefix(module, ours)
}
