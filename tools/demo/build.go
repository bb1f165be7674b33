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

// programs are the paths of the executables that play.
type programs struct{ lab, ccm, emulator string }

// progressEvery is how often a build that takes long says that it is still going on.
const progressEvery = 10 * time.Second

// build compiles what has changed since the last time: seconds, but minutes the first time.
// Kubernetes itself is only needed for a cluster of the demo's own.
func build(ctx context.Context, root string, kubernetes bool, t *printer) (programs, error) {
	bin := filepath.Join(root, "bin")
	built := programs{ccm: filepath.Join(bin, "thalassa-cloud-controller-manager"),
		emulator: filepath.Join(bin, "thalassa-emulator")}
	if kubernetes {
		var err error
		if built.lab, err = controlplane.Build(ctx, root, func(line string) { t.say("%s", line) }); err != nil {
			return programs{}, err
		}
	}
	for _, program := range []string{built.ccm, built.emulator} {
		if err := compile(ctx, root, program, t); err != nil {
			return programs{}, fmt.Errorf("building %s: %w", filepath.Base(program), err)
		}
	}
	t.say("The programs are built and current")
	return built, nil
}

// compile builds one program of the module src exactly as `make build` does, so that neither undoes the other's work.
func compile(ctx context.Context, root, program string, t *printer) error {
	p, err := process.Start(ctx, process.Spec{
		Name: "make", Path: "make", Dir: root, Args: []string{"--silent", "bin/" + filepath.Base(program)},
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
			t.say("Still compiling %s; the first time takes a few minutes", filepath.Base(program))
		}
	}
}
