package gotest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// group is what one go command tests.
type group struct {
	packages []string
	race     bool
}

// String announces the group.
func (g group) String() string {
	with := "without"
	if g.race {
		with = "with"
	}
	return fmt.Sprintf("testing %d packages %s the race detector", len(g.packages), with)
}

// smaller is how the names of files end with which the tests of a package try less with the race detector, which makes
// them many times as slow. Such a package is tested without it, too.
const smaller = "_race_test.go"

// groups divides the packages by whether they are tested with the race detector.
func (o Options) groups(ctx context.Context) ([]group, error) {
	if o.Race != Own {
		return []group{{o.Packages, o.Race == Everywhere}}, nil
	}
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .IgnoredGoFiles " "}} `
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-f", format}, o.Packages...)...)
	cmd.Dir, cmd.Stderr = o.Dir, o.Out
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages to test: %w", err)
	}
	with, without := group{race: true}, group{}
	for line := range strings.Lines(string(list)) {
		fields := strings.Split(line, "\t")
		name, inSrc := fields[0], o.isRaced(fields[1])
		if inSrc {
			with.packages = append(with.packages, name)
		}
		if !inSrc || strings.Contains(fields[2], smaller+" ") {
			without.packages = append(without.packages, name)
		}
	}
	switch {
	case len(with.packages) == 0:
		return []group{{o.Packages, false}}, nil // as they were given, because a pattern may match nothing
	case len(without.packages) == 0:
		return []group{with}, nil
	}
	return []group{with, without}, nil
}

// isRaced says whether a package's folder is one whose tests run with the race detector.
func (o Options) isRaced(dir string) bool {
	below, err := filepath.Rel(filepath.Join(o.Dir, raced), dir)
	return err == nil && filepath.IsLocal(below)
}
