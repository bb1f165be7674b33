// Package demo tells the story of one Service: a cluster and a cloud are started on this machine, the chart is
// installed, nodes are initialised, a load balancer is made, used, changed and removed, and nothing stays behind.
//
// Everything in it is real but the cloud and the kubelets: Kubernetes' own control plane, Helm, the chart, and the
// cloud controller manager, which is started from the workload that the API server holds, like a kubelet would.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// Options say how the demo runs.
type Options struct {
	// Root is the folder of the repository.
	Root string
	// Output gets the text of the demo. Input answers its one question; it is read only with Cluster.
	Output io.Writer
	Input  io.Reader
	// Keep leaves everything running after the story, until the context ends.
	Keep bool
	// Cloud is thalassa, the default, or ironcore.
	Cloud string
	// Cluster is a context of the user's kubeconfig: the story then happens in that cluster. Empty: in one of its own.
	Cluster string
	// Dir is the folder for its files; empty is a fresh one in the system's folder for temporary files.
	Dir string
}

// cleanupTimeout bounds the removal of each thing after the story, or after an interruption.
const cleanupTimeout = 60 * time.Second

// Run tells the story and removes everything again. When ctx ends it stops where it is, removes everything and returns
// the context's cause; with Keep that is how the story ends well, and nil is returned.
func Run(ctx context.Context, o Options) error {
	t := newPrinter(o.Output)
	s := &stage{options: o, printer: t, nodes: map[string]*virtualnode.Node{}}
	// Also when something panics: a cluster of the user's own must not keep what was made in it.
	defer func() {
		if len(s.undo) > 0 {
			_ = s.clear(ctx)
		}
	}()
	if err := s.perform(ctx); err != nil {
		t.chapter("Stopped: " + plainCause(ctx, err).Error())
		s.explain()
		return errors.Join(err, s.clear(ctx))
	}
	if o.Keep {
		s.keep(ctx)
	}
	if err := s.clear(ctx); err != nil {
		return err
	}
	if !o.Keep {
		t.chapter("That was all. To explore the cluster yourself")
		t.plain("  %s     leaves everything running until Ctrl-C and says how to reach it", o.keepCommand())
		t.plain("  examples/web.yaml    is what was applied; charts/thalassa-ccm is what was installed")
	}
	return nil
}

// keepCommand is the command that shows the same and leaves it running.
func (o Options) keepCommand() string {
	if o.Cloud == cloudIronCore {
		return "make demo CLOUD=ironcore KEEP=1"
	}
	return "make demo KEEP=1"
}

// errOwnClusterOnly ends a demo that would need tests of its own of what it may write in a cluster of the user.
var errOwnClusterOnly = errors.New("with CLOUD=ironcore the demo uses a cluster of its own: leave out CLUSTER")

// perform builds what is needed, sets the stage and tells the story.
func (s *stage) perform(ctx context.Context) (err error) {
	if s.cloud, err = newCloud(s.options.Cloud); err != nil {
		return err
	}
	if s.options.Cluster != "" && s.options.Cloud == cloudIronCore {
		return errOwnClusterOnly
	}
	if s.folder, err = openFolder(s.options.Dir, s.printer); err != nil {
		return err
	}
	s.later("its files", func(context.Context) error { return s.folder.Remove() })
	if s.options.Cluster != "" {
		// Asked before anything else: a question should not come after minutes.
		if s.cluster, err = s.preflight(ctx); err != nil {
			return err
		}
	}
	s.printer.chapter("Building the programs")
	if s.programs, err = build(ctx, s.options.Root, s.cluster == nil, s.cloud.programs(), s.printer); err != nil {
		return err
	}
	if err := s.set(ctx); err != nil {
		return err
	}
	return s.play(ctx)
}

// keep leaves everything running until ctx ends.
func (s *stage) keep(ctx context.Context) {
	s.printer.chapter("Everything keeps running until Ctrl-C. In another terminal")
	s.printAccess()
	<-ctx.Done()
}

// errInterrupted is how an interruption reads.
var errInterrupted = errors.New("interrupted")

// plainCause is the interruption itself when there was one, not what it interrupted.
func plainCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// clear removes everything in the reverse order of its making, also when ctx has ended.
func (s *stage) clear(ctx context.Context) error {
	s.printer.chapter("Removing everything")
	var failures []error
	for len(s.undo) > 0 {
		last := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		// What is stuck must not use up the time of what comes after it.
		step, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		if err := last.do(step); err != nil {
			failures = append(failures, fmt.Errorf("removing %s: %w", last.what, err))
		}
		cancel()
	}
	if len(failures) == 0 {
		s.printer.say("Nothing is left running, no file is left behind")
		return nil
	}
	err := errors.Join(failures...)
	s.printer.say("Not everything could be removed: %v", err)
	return err
}
