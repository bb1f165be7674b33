//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// GuestImage is the name of the image of tools/cmd/guest, which is made here and is in no registry. It pauses, as a
// pod's sandbox does, unless a container has other arguments: "serve" is the test server.
const GuestImage = "lab.local/guest:1"

// programs are the executables of a cluster, by path.
type programs struct {
	lab, agents, guest string
	// images is a folder with archives: everything that a node has to have.
	images string
}

// programsOf is where the programs of a repository are.
func programsOf(root string) programs {
	bin := filepath.Join(root, "bin")
	return programs{
		lab: filepath.Join(bin, "lab"), agents: filepath.Join(bin, "agents"), guest: filepath.Join(bin, "guest"),
		images: filepath.Join(StateFolder(root), "images"),
	}
}

// build builds what a cluster is made of, unless that is done.
func (c *Cluster) build(ctx context.Context) (programs, error) {
	if !c.options.Built {
		return programsOf(c.options.Root), Build(ctx, c.options.Root, c.options.Progress)
	}
	p := programsOf(c.options.Root)
	for _, path := range []string{p.lab, p.agents, p.guest, p.images} {
		if _, err := os.Stat(path); err != nil {
			return p, fmt.Errorf("checking what should have been built: %w; run bin/cluster build", err)
		}
	}
	return p, nil
}

// Build compiles what has changed of all that a cluster is made of: seconds, but minutes the first time. It needs no
// root.
func Build(ctx context.Context, root string, progress func(string)) error {
	if _, err := controlplane.Build(ctx, root, progress); err != nil {
		return err
	}
	if _, err := controlplane.BuildAgents(ctx, root, progress); err != nil {
		return err
	}
	p := programsOf(root)
	if err := os.MkdirAll(p.images, 0o755); err != nil {
		return fmt.Errorf("making a folder for images: %w", err)
	}
	progress("Building the images")
	if err := compileGuest(ctx, root, p.guest); err != nil {
		return err
	}
	guest := image.Program{Name: "guest", Title: GuestImage, Description: "Part of the lab",
		Arguments: []string{"pause"}}
	if err := image.Archive(filepath.Join(p.images, "guest.tar"), GuestImage, guest, image.Stamp{Version: "devel"},
		p.guest); err != nil {
		return err
	}
	return buildManager(ctx, root, p.images)
}

// compileGuest compiles what runs inside of machines and pods.
func compileGuest(ctx context.Context, root, target string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o",
		target, "./cmd/guest")
	command.Dir = filepath.Join(root, "tools")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=", "GOARCH=")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building tools/cmd/guest: %w\n%s", err, output)
	}
	return nil
}

// buildManager makes the image of the cloud controller manager, under the name that the chart has for it.
func buildManager(ctx context.Context, root, folder string) error {
	loaded, err := chart.Load(filepath.Join(root, "charts", "thalassa-ccm"))
	if err != nil {
		return err
	}
	manager := image.Programs()[0]
	version := loaded.AppVersion()
	reference := image.Registry + "/" + manager.Repository + ":" + version
	return image.BuildArchive(ctx, root, filepath.Join(folder, manager.Name+".tar"), reference, manager,
		image.Stamp{Version: "v" + version})
}
