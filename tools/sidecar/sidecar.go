// Package sidecar runs the programs of Kubernetes that drive a CSI driver, for tests: csi-provisioner, csi-attacher,
// csi-resizer, csi-snapshotter and snapshot-controller. tools/sidecars pins them. In a cluster, they are containers
// beside the driver.
//
//	if err := sidecar.InstallDefinitions(ctx, plane.Config()); err != nil {
//		return err
//	}
//	s, err := sidecar.Start(ctx, sidecar.Options{Kubeconfig: plane.Kubeconfig(), Socket: socket, Logs: dir})
//	if err != nil {
//		return err
//	}
//	defer s.Stop()
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// stopGrace is how long each program may take to end. They do not handle SIGTERM and end at once.
const stopGrace = 5 * time.Second

// Options says what to start. Kubeconfig, Socket and Logs are required.
type Options struct {
	// Programs are the names of what is started. Default: all.
	Programs []string
	// Kubeconfig is the path of a kubeconfig for all programs.
	Kubeconfig string
	// Socket is the path of the driver's socket. The programs wait for it, and end when the driver closes a connection.
	Socket string
	// Logs is the folder of the log files, one for each program.
	Logs string
	// LeaderElection is the namespace of the leases for leader election. Default: none is held.
	LeaderElection string
	// Binaries is the folder of the executables. Default: what controlplane.BuildSidecars makes.
	Binaries string
	// Progress gets messages about a build that takes long. It may be nil.
	Progress func(string)
	// Env is added to the environment of the programs.
	Env []string
	// Flags are further flags by the names of programs. They come last and so override ours.
	Flags map[string][]string
}

// Sidecars are the programs that run for one driver. All methods may be called from any goroutine.
type Sidecars struct{ running []*running }

// running is a program, and its name.
type running struct {
	*process.Process
	name string
}

// Start starts all programs. They run until Stop, or until this process ends in whatever way.
func Start(ctx context.Context, o Options) (*Sidecars, error) {
	if o.Binaries == "" {
		root, err := repo.Root()
		if err != nil {
			return nil, err
		}
		if o.Binaries, err = controlplane.BuildSidecars(ctx, root, o.Progress); err != nil {
			return nil, err
		}
	}
	if o.Programs == nil {
		o.Programs = Names()
	}
	s := &Sidecars{}
	for _, name := range o.Programs {
		// Nearly nothing of our environment: KUBECONFIG overrides a flag of csi-provisioner.
		p, err := process.Start(context.WithoutCancel(ctx), process.Spec{
			Name: name, Path: filepath.Join(o.Binaries, name), Args: slices.Concat(o.flags(name), o.Flags[name]),
			Env:     append([]string{"PATH=" + os.Getenv("PATH")}, o.Env...),
			LogPath: filepath.Join(o.Logs, name+".log"),
		})
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		s.running = append(s.running, &running{p, name})
	}
	return s, nil
}

// Err describes the programs that have ended although Stop was not called, with the ends of their logs. It is nil while
// all programs run.
func (s *Sidecars) Err() error {
	var errs []error
	for _, p := range s.running {
		select {
		case <-p.Done():
			errs = append(errs, p.ended())
		default:
		}
	}
	return errors.Join(errs...)
}

// ended describes an end that was not requested.
func (p *running) ended() error {
	if err := p.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s (pid %d) ended by itself, without an error; its last lines:\n%s", p.name, p.PID(), p.Tail())
}

// Tail returns the ends of all logs, for the message of a test that fails.
func (s *Sidecars) Tail() string {
	var all strings.Builder
	for _, p := range s.running {
		fmt.Fprintf(&all, "%s:\n%s\n", p.name, p.Tail())
	}
	return all.String()
}

// Stop stops all programs. The error is that of Err from before the stop, and of programs that do not end. Stop them
// before the driver: they end with an error when it does. Stop may be called once.
func (s *Sidecars) Stop() error {
	errs := []error{s.Err()}
	for _, p := range s.running {
		errs = append(errs, p.Stop(stopGrace))
	}
	return errors.Join(errs...)
}
