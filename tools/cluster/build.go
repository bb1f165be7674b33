//go:build linux

package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// GuestImage is the name of the image of tools/cmd/guest, which is made here and is in no registry. It pauses, as a
// pod's sandbox does, unless a container has other arguments: "serve" is the test server.
const GuestImage = "lab.local/guest:1"

// WebImage is the name of the image of the web server in the repository's examples. Here, it is the test server.
const WebImage = "ghcr.io/thalassa-cloud/thalassa-ccm/web:0.1.0"

// programs are the executables of a cluster, by path.
type programs struct {
	lab, agents, guest string
	ironcore           string // a folder
	// images is a folder with archives: everything that a node has to have. dns and volumes are those with what it has
	// to have for DNS and for volumes.
	images, dns, volumes string
}

// programsOf is where the programs of a repository are.
func programsOf(root string) programs {
	bin := filepath.Join(root, "bin")
	return programs{
		lab: filepath.Join(bin, "lab"), agents: filepath.Join(bin, "agents"), guest: filepath.Join(bin, "guest"),
		ironcore: filepath.Join(bin, "ironcore"),
		images:   filepath.Join(StateFolder(root), "images"), dns: filepath.Join(StateFolder(root), "dns"),
		volumes: filepath.Join(StateFolder(root), "volumes"),
	}
}

// build builds what a cluster is made of, unless that is done.
func (c *Cluster) build(ctx context.Context) (programs, error) {
	p := programsOf(c.options.Root)
	if !c.options.Built {
		err := Build(ctx, c.options.Root, c.options.Progress)
		if err == nil && c.options.DNS {
			err = BuildDNS(ctx, c.options.Root, c.options.Progress)
		}
		if err == nil && c.options.Volumes {
			err = BuildVolumes(ctx, c.options.Root, c.options.Progress)
		}
		if err == nil && c.options.IronCore {
			_, err = controlplane.BuildIronCore(ctx, c.options.Root, c.options.Progress)
		}
		return p, err
	}
	needed := []string{p.lab, p.agents, p.guest, p.images}
	if c.options.DNS {
		needed = append(needed, filepath.Join(p.dns, dnsName+".tar"))
	}
	if c.options.IronCore {
		needed = append(needed, p.ironcore)
	}
	if c.options.Volumes {
		needed = append(needed, filepath.Join(p.volumes, snapshotDefinitions))
	}
	for _, path := range needed {
		if _, err := os.Stat(path); err != nil {
			return p, fmt.Errorf("checking what should have been built: %w; run bin/cluster build", err)
		}
	}
	return p, nil
}

// Build compiles what has changed of all that a cluster in Thalassa Cloud without DNS and volumes is made of: seconds,
// but minutes the first time. It needs no root.
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
	for _, one := range []struct{ name, reference, argument string }{
		{"guest", GuestImage, "pause"}, {"web", WebImage, "serve"},
	} {
		guest := image.Program{Name: "guest", Title: one.reference, Description: "Part of the lab",
			Arguments: []string{one.argument}}
		if err := image.Archive(filepath.Join(p.images, one.name+".tar"), one.reference, guest,
			image.Stamp{Version: "devel"}, p.guest); err != nil {
			return err
		}
	}
	return buildOurs(ctx, root, Release, p.images)
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

// buildOurs makes the image that a chart of ours is for, under the name that the chart has for it.
func buildOurs(ctx context.Context, root, name, folder string) error {
	loaded, err := chart.Load(filepath.Join(root, "charts", name))
	if err != nil {
		return err
	}
	all := image.Programs()
	i := slices.IndexFunc(all, func(p image.Program) bool { return p.Title == name })
	if i < 0 {
		return fmt.Errorf("building the image of the chart %s: there is no program of that title", name)
	}
	version := loaded.AppVersion()
	reference := image.Registry + "/" + all[i].Repository + ":" + version
	return image.BuildArchive(ctx, root, filepath.Join(folder, all[i].Name+".tar"), reference, all[i],
		image.Stamp{Version: "v" + version})
}

// archiveProgram makes the image of a program, unless the one that is there has the same name and content: packing
// those for volumes takes half a minute.
func archiveProgram(executable, target, reference string) error {
	content, err := os.ReadFile(executable)
	if err != nil {
		return fmt.Errorf("reading what is to be in an image: %w", err)
	}
	wanted := fmt.Appendf(nil, "%s %x\n", reference, sha256.Sum256(content))
	_, missing := os.Stat(target + ".tar")
	made, err := os.ReadFile(target + ".sum")
	if err == nil && missing == nil && bytes.Equal(made, wanted) {
		return nil
	}
	name := filepath.Base(executable)
	program := image.Program{Name: name, Title: name, Description: "Part of the lab"}
	if err := image.Archive(target+".tar", reference, program, image.Stamp{Version: "devel"}, executable); err != nil {
		return err
	}
	if err := os.WriteFile(target+".sum", wanted, 0o644); err != nil {
		return fmt.Errorf("recording what is in the image of %s: %w", name, err)
	}
	return nil
}
