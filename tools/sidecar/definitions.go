package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/definition"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// clientModule has the definitions of snapshots among its files. csi-snapshotter is compiled with it.
const clientModule = "github.com/kubernetes-csi/external-snapshotter/client/v8"

// InstallDefinitions adds the definitions of VolumeSnapshot, VolumeSnapshotClass and VolumeSnapshotContent to an API
// server, and waits until they are served. Without them, snapshot-controller does not start.
func InstallDefinitions(ctx context.Context, config *rest.Config) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	definitions, err := Definitions(ctx, root)
	if err != nil {
		return err
	}
	return definition.Install(ctx, config, definitions)
}

// Definitions returns what InstallDefinitions adds, as a stream of YAML documents. They come from the module cache, in
// the version that tools/sidecars of the repository at root pins.
func Definitions(ctx context.Context, root string) ([]byte, error) {
	checkout.DependOn("tools/sidecars")
	folder, err := moduleFolder(ctx, filepath.Join(root, "tools", "sidecars"))
	if err != nil {
		return nil, fmt.Errorf("finding the definitions of snapshots: %w", err)
	}
	var all [][]byte
	for _, kind := range []string{"classes", "contents", "s"} {
		file := filepath.Join(folder, "config", "crd", "snapshot.storage.k8s.io_volumesnapshot"+kind+".yaml")
		one, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a definition of snapshots: %w", err)
		}
		all = append(all, one)
	}
	return bytes.Join(all, []byte("\n---\n")), nil
}

// moduleFolder returns where clientModule is in the module cache, and downloads it if it is not there. The go.mod in
// dir decides on its version.
func moduleFolder(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", clientModule)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	output, err := cmd.Output()
	var module struct{ Dir, Error string }
	if json.Unmarshal(output, &module) == nil && module.Error != "" {
		return "", fmt.Errorf("downloading %s: %s", clientModule, module.Error)
	}
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", clientModule, err)
	}
	return module.Dir, nil
}
