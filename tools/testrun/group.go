package testrun

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// clusters is the package by which tests use the control plane of the run, which one package has at a time.
const clusters = "github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"

// group is what one go command tests. With the race detector, which makes tests many times as slow, it is the quick
// tier, and the full tier tests the same packages without it, too.
type group struct {
	packages []string
	race     bool
}

// plan is what runs at the same time: two lists of groups, each of which runs one after the other. Tests of a package
// in waiting wait for the control plane most of the time, and would keep others from running.
type plan struct{ running, waiting []group }

// plan divides the packages.
func (o Options) plan(ctx context.Context) (plan, error) {
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .TestImports " "}} {{join .XTestImports " "}}`
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-f", format}, o.Packages...)...)
	command.Dir, command.Stderr = o.Root, o.Out
	list, err := command.Output()
	if err != nil {
		return plan{}, fmt.Errorf("listing the packages to test: %w", err)
	}
	var raced, others, waiting, racedWaiting group
	raced.race, racedWaiting.race = true, true
	for line := range strings.Lines(string(list)) {
		fields := strings.Split(line, "\t")
		if strings.Contains(strings.Join(o.Packages, " "), "...") && isElsewhere(fields[0]) {
			continue
		}
		with, without := &raced, &others
		if slices.Contains(strings.Fields(fields[2]), clusters) {
			with, without = &racedWaiting, &waiting
		}
		isRaced := o.Race == Everywhere || o.Race == Own && with == &raced && o.isRaced(fields[1])
		if isRaced {
			with.packages = append(with.packages, fields[0])
		}
		if !isRaced || tier.Full() {
			without.packages = append(without.packages, fields[0])
		}
	}
	return plan{notEmpty(raced, others), notEmpty(racedWaiting, waiting)}, nil
}

// isElsewhere reports whether a pattern does not mean a package that it matches: one that has tests of the full tier
// only, which need not be built for the quick one, or one that has a stage of its own.
func isElsewhere(name string) bool {
	_, folder, _ := strings.Cut(name, "/thalassa-ccm/")
	if !tier.Full() {
		return strings.HasPrefix(folder, "ci/slow/")
	}
	// What the full tier has of the tools builds releases for all platforms, as the first one of ci/slow does.
	return slices.Contains([]string{"ci/slow/release", "ci/slow/soak", "tools/image", "tools/release"}, folder)
}

func notEmpty(groups ...group) []group {
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.packages) == 0 })
}

// isRaced reports whether a package's folder is one whose tests run with the race detector.
func (o Options) isRaced(dir string) bool {
	below, err := filepath.Rel(filepath.Join(o.Root, raced), dir)
	return err == nil && filepath.IsLocal(below)
}
