// Command test runs the tests of the workspace; it is what `make test` calls. Flags after -- go to `go test`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun"
)

// everything is tested. Those that take longest begin first, so that they do not run alone in the end.
const everything = "./src/thalassa ./ci/rbactest ./ci/charttest ./src/manager ./src/... ./src/emulator/... " +
	"./tools/... ./ci/..."

// settings are the command line.
type settings struct {
	race, packages, summary, hash string
	root                          bool
	further                       []string // for `go test`
}

func main() {
	var s settings
	flag.StringVar(&s.race, "race", "",
		"race detector: 1 everywhere, 0, or auto for src when there is a C compiler (CI requires one); default: auto "+
			"in the full tier, which "+tier.Variable+"=1 chooses, and 0 in the quick one")
	flag.StringVar(&s.packages, "packages", everything, "what to test, separated by spaces")
	flag.BoolVar(&s.root, "root", false,
		"fail tests that need root or programs that are missing, instead of skipping them")
	flag.StringVar(&s.summary, "summary", "",
		"file that receives the closing line, and below it the times of packages, slowest first")
	flag.StringVar(&s.hash, "hash", "",
		"print the hashes of these files and folders, separated by spaces, and test nothing")
	flag.Parse()
	s.further = flag.Args()
	os.Exit(program.Run("test", os.Stderr, func(ctx context.Context) error { return run(ctx, s) }))
}

// run tests, and writes the summary also when tests failed.
func run(ctx context.Context, s settings) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	if s.hash != "" {
		text, err := testrun.Inputs(root, strings.Fields(s.hash))
		fmt.Print(text)
		return err
	}
	if s.race == "" {
		s.race = tier.Pick("0", "auto")
	}
	race, err := testrun.Race(ctx, s.race, os.Getenv("CI") != "")
	if err != nil {
		return err
	}
	result, err := testrun.Run(ctx, testrun.Options{
		Root: root, Packages: strings.Fields(s.packages), Race: race, NeedRoot: s.root, Args: s.further, Out: os.Stdout,
	})
	if s.summary == "" {
		return err
	}
	lines := []string{result.String()}
	for _, one := range result.Times {
		lines = append(lines, one.String())
	}
	return errors.Join(err, os.WriteFile(s.summary, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}
