// Command gotest runs the tests of the workspace; it is what `make test` calls. Flags after -- go to `go test`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/tools/gotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// everything is tested. Those that take longest begin first, so that they do not run alone in the end.
const everything = "./ci/rbactest ./src/thalassa ./ci/charttest ./src/... ./src/emulator/... ./tools/... ./ci/..."

// settings are the command line.
type settings struct {
	race, packages, summary string
	root                    bool
	further                 []string // for `go test`
}

func main() {
	var s settings
	flag.StringVar(&s.race, "race", "auto",
		"race detector: 1 everywhere, 0, or auto for src when there is a C compiler (CI requires one)")
	flag.StringVar(&s.packages, "packages", everything, "what to test, separated by spaces")
	flag.BoolVar(&s.root, "root", false,
		"fail tests that need root or programs that are missing, instead of skipping them")
	flag.StringVar(&s.summary, "summary", "",
		"file that receives the closing line, and below it the times of packages, slowest first")
	flag.Parse()
	s.further = flag.Args()
	os.Exit(program.Run("gotest", os.Stderr, func(ctx context.Context) error { return run(ctx, s) }))
}

// run tests, and writes the summary also when tests failed.
func run(ctx context.Context, s settings) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	race, err := gotest.Race(ctx, s.race, os.Getenv("CI") != "")
	if err != nil {
		return err
	}
	if race == gotest.Nowhere {
		fmt.Println("testing without the race detector")
	}
	result, err := gotest.Run(ctx, gotest.Options{
		Dir: root, Packages: strings.Fields(s.packages), Race: race, Root: s.root, Args: s.further, Out: os.Stdout,
	})
	if s.summary == "" {
		return err
	}
	lines := []string{result.Tally.String()}
	for _, one := range result.Times {
		lines = append(lines, one.String())
	}
	return errors.Join(err, os.WriteFile(s.summary, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}
