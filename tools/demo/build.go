package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// ccmName is the program that the demo is about.
const ccmName = "thalassa-cloud-controller-manager"

// programs are the executables that play.
type programs struct {
	bin string // the folder with all of them
	lab string // the path of Kubernetes; empty if it was not needed
}

// path is where a program is.
func (p programs) path(name string) string { return filepath.Join(p.bin, name) }

// progressEvery is how often a build that takes long says that it is still going on.
const progressEvery = 10 * time.Second

// build compiles what has changed since the last time: seconds, but minutes the first time. Kubernetes itself is needed
// for control planes of the demo's own. The cloud controller manager is always needed, others are those of the cloud.
func build(ctx context.Context, root string, kubernetes bool, others []string, t *printer) (programs, error) {
	built := programs{bin: filepath.Join(root, "bin")}
	if kubernetes {
		var err error
		if built.lab, err = controlplane.Build(ctx, root, func(line string) { t.say("%s", line) }); err != nil {
			return programs{}, err
		}
	}
	for _, program := range append([]string{ccmName}, others...) {
		if err := compile(ctx, root, program, t); err != nil {
			return programs{}, fmt.Errorf("building %s: %w", program, err)
		}
	}
	t.say("The programs are built and current")
	return built, nil
}

// compile builds one program of the module src exactly as `make build` does, so that neither undoes the other's work.
func compile(ctx context.Context, root, program string, t *printer) error {
	p, err := process.Start(ctx, process.Spec{
		Name: "make", Path: "make", Dir: root, Args: []string{"--silent", "bin/" + program},
		Env: os.Environ(),
	})
	if err != nil {
		return err
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return p.Err()
		case <-tick.C:
			t.say("Still compiling %s; the first time takes a few minutes", program)
		}
	}
}
