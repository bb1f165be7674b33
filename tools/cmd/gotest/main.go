// Command gotest runs the tests of the workspace; it is what `make test` calls. Flags after -- go to `go test`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/thalassa-cloud/thalassa-ccm/tools/gotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

// run reads the command line and tests.
func run(ctx context.Context) error {
	setting := flag.String("race", "auto", "race detector: 1, 0, or auto for when there is a C compiler (CI insists on it)")
	packages := flag.String("packages", "./src/... ./tools/... ./ci/...", "what to test, separated by spaces")
	summary := flag.String("summary", "", "file that receives the closing line")
	flag.Parse()
	root, err := repo.Root()
	if err != nil {
		return err
	}
	race, err := gotest.Race(ctx, *setting, os.Getenv("CI") != "")
	if err != nil {
		return err
	}
	if !race {
		fmt.Println("testing without the race detector")
	}
	tally, err := gotest.Run(ctx, gotest.Options{Dir: root, Packages: strings.Fields(*packages), Race: race, Args: flag.Args(), Out: os.Stdout})
	if *summary != "" {
		return firstError(err, os.WriteFile(*summary, []byte(tally.String()+"\n"), 0o644))
	}
	return err
}

// firstError is the error that matters more: that of the tests before that of their summary.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
