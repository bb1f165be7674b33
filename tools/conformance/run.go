//go:build linux

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// suiteTimeout is when tests that still run fail. Those of a loaded machine take a third of it.
	suiteTimeout = 45 * time.Minute
	// suiteGrace is how long the tests may take to remove what they made in the cluster.
	suiteGrace = time.Minute
	// workers is how many nodes there are: the tests have to know, and need two.
	workers = 2
	// parallel is how many tests run at a time. Most of the time each waits.
	parallel = 6
)

// Options are what to run. Only Root is required.
type Options struct {
	// Root is the folder of the repository.
	Root string
	// Built says that Build has been called since anything has changed: then nothing is built.
	Built bool
	// Focus is a regular expression: only tests whose name it matches run. Empty: all tests of load balancers.
	Focus string
	// Progress gets messages about what happens.
	Progress func(string)
}

// files are the paths of what is built and written.
type files struct{ suite, folder, archive, report, log string }

func filesOf(root string) files {
	folder := filepath.Join(root, "dist", "conformance")
	return files{
		suite: filepath.Join(root, "bin", "suite"), folder: folder, archive: filepath.Join(folder, "agnhost.tar"),
		report: filepath.Join(folder, "report.json"), log: filepath.Join(folder, "suite.log"),
	}
}

// Build builds the cluster, the tests, and the image that they run in pods. It needs no root.
func Build(ctx context.Context, root string, progress func(string)) error {
	// What is missing is known before anything is compiled for minutes.
	programs, err := programFiles(ctx, commands())
	if err == nil {
		err = cluster.Build(ctx, root, progress)
	}
	if err == nil {
		err = cluster.BuildDNS(ctx, root, progress)
	}
	if err == nil {
		_, err = controlplane.BuildSuite(ctx, root, progress)
	}
	if err != nil {
		return err
	}
	f := filesOf(root)
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return fmt.Errorf("making the folder for the results: %w", err)
	}
	reference, err := agnhostImage(ctx, filepath.Join(f.suite, "e2e.test"))
	if err != nil {
		return err
	}
	progress("Building " + reference)
	made, err := agnhost(filepath.Join(f.suite, "agnhost"), programs)
	if err != nil {
		return err
	}
	return image.WriteArchive(f.archive, reference, made)
}

// Run starts a cluster, runs the tests in it, and removes it. It returns the table of results, and an error if a result
// is not the one that is documented.
func Run(ctx context.Context, o Options) (table string, err error) {
	rows, err := Table(Page(o.Root))
	if err != nil {
		return "", err
	}
	if !o.Built {
		if err := Build(ctx, o.Root, o.Progress); err != nil {
			return "", err
		}
	}
	results, err := o.inCluster(ctx)
	if err != nil {
		return "", err
	}
	return Render(rows, results), Compare(rows, results, o.Focus == "")
}

// inCluster runs the tests in a cluster of their own. They reach its load balancers from this machine.
func (o Options) inCluster(ctx context.Context) (results []Result, err error) {
	f := filesOf(o.Root)
	c, err := cluster.Start(ctx, cluster.Options{Root: o.Root, Built: true, DNS: true, Client: netns.Host,
		// The tests have Services of one family, and connect to every address of a node.
		OneAddress: true,
		Workers:    workers, Progress: o.Progress, FailureLogs: filepath.Join(f.folder, "logs")})
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, c.Logs(filepath.Join(f.folder, "logs")), c.Close(), cluster.GiveToCaller(f.folder))
	}()
	remote, err := c.Announce(f.folder)
	if err != nil {
		return nil, err
	}
	if _, err := remote.LoadImage(ctx, f.archive); err != nil {
		return nil, err
	}
	o.Progress("The tests run; what they print is in " + f.log)
	if err := o.runSuite(ctx, f, remote.Kubeconfig); err != nil {
		return nil, err
	}
	report, err := os.ReadFile(f.report)
	if err == nil {
		results, err = Results(report)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; what the tests print is in %s", err, f.log)
	}
	return results, nil
}

// runSuite runs the tests. Failures of tests are in the report.
func (o Options) runSuite(ctx context.Context, f files, kubeconfig string) error {
	for _, path := range []string{f.report, f.log} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing the results of another run: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, suiteTimeout+2*suiteGrace)
	defer cancel()
	suite, err := process.Start(ctx, process.Spec{
		Name: "the tests", Path: filepath.Join(f.suite, "ginkgo"), LogPath: f.log, Grace: suiteGrace,
		// Ginkgo starts processes of its own.
		Isolate: true,
		// Ginkgo compares its version with the one of the workspace, if there is one.
		Env:  append(os.Environ(), "GOWORK=off"),
		Args: suiteArguments(f, o.Focus, kubeconfig),
	})
	if err != nil {
		return err
	}
	<-suite.Done()
	return context.Cause(ctx)
}

// suiteArguments are those of ginkgo, and after "--" those of the tests.
func suiteArguments(f files, focus, kubeconfig string) []string {
	return []string{
		"run", fmt.Sprintf("--procs=%d", parallel), fmt.Sprintf("--timeout=%s", suiteTimeout), "--no-color",
		"--label-filter=Feature: containsAny LoadBalancer", "--focus=" + focus,
		"--output-dir=" + filepath.Dir(f.report), "--json-report=" + filepath.Base(f.report),
		filepath.Join(f.suite, "e2e.test"), "--", "--provider=skeleton", "--kubeconfig=" + kubeconfig,
		"--kubectl-path=" + filepath.Join(f.suite, "kubectl"), fmt.Sprintf("--num-nodes=%d", workers),
	}
}
