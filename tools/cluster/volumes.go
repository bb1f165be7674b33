//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/definition"
	guest "github.com/thalassa-cloud/thalassa-ccm/tools/machine"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

const (
	// VolumesRelease is the name of the Helm release of the CSI driver. It is in Namespace.
	VolumesRelease = "thalassa-csi"
	// VolumesDriver is the name of the CSI driver.
	VolumesDriver = "csi.k8s.thalassa.cloud"
	// VolumesClass is the default StorageClass, and the VolumeSnapshotClass.
	VolumesClass = "tc-block"
	// DeviceDirectory is the flag --device-directory of the node plug-in: loop devices have no serial numbers in sysfs,
	// and have them in this folder of their machine.
	DeviceDirectory = guest.DiskFolder

	snapshotDefinitions = "snapshots.yaml"
)

// errNoVolumes is the error of an option that is for Thalassa Cloud only.
var errNoVolumes = errors.New("volumes are not possible in IronCore")

// sidecarKeys are the programs that drive the CSI driver, by their keys in the values of the chart.
func sidecarKeys() map[string]string {
	return map[string]string{"provisioner": sidecar.Provisioner, "attacher": sidecar.Attacher,
		"resizer": sidecar.Resizer, "snapshotter": sidecar.Snapshotter,
		"snapshotController": sidecar.SnapshotController}
}

// volumesChart is the folder of the chart of the CSI driver.
func volumesChart(root string) string { return filepath.Join(root, "charts", VolumesRelease) }

// BuildVolumes does what Build does for volumes: it compiles the CSI driver and the programs that drive it, and makes
// images of them, under the names that the chart has for them.
func BuildVolumes(ctx context.Context, root string, progress func(string)) error {
	programs, err := controlplane.BuildSidecars(ctx, root, progress)
	if err != nil {
		return err
	}
	folder := programsOf(root).volumes
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making a folder for images: %w", err)
	}
	progress("Building the images for volumes")
	definitions, err := sidecar.Definitions(ctx, root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, snapshotDefinitions), definitions, 0o644); err != nil {
		return fmt.Errorf("keeping the definitions of snapshots: %w", err)
	}
	if err := buildOurs(ctx, root, VolumesRelease, folder); err != nil {
		return err
	}
	return archiveSidecars(root, programs, folder)
}

// archiveSidecars makes an image of each program that drives the CSI driver.
func archiveSidecars(root, programs, folder string) error {
	loaded, err := chart.Load(volumesChart(root))
	if err != nil {
		return err
	}
	values, _ := loaded.Values["sidecars"].(map[string]any)
	for key, name := range sidecarKeys() {
		reference, err := referenceOf(values[key])
		if err != nil {
			return fmt.Errorf("reading sidecars.%s of the chart %s: %w", key, VolumesRelease, err)
		}
		if err := archiveProgram(filepath.Join(programs, name), filepath.Join(folder, name), reference); err != nil {
			return err
		}
	}
	return nil
}

// referenceOf is the name of the image that the values of a sidecar say.
func referenceOf(values any) (string, error) {
	sidecar, _ := values.(map[string]any)
	named, _ := sidecar["image"].(map[string]any)
	parts := []string{}
	for _, key := range []string{"registry", "repository", "tag"} {
		part, _ := named[key].(string)
		if part == "" {
			return "", fmt.Errorf("image.%s is missing", key)
		}
		parts = append(parts, part)
	}
	return parts[0] + "/" + parts[1] + ":" + parts[2], nil
}

// InstallVolumes installs the chart of the CSI driver in a folder with snapshots, from today's images. The cluster must
// have been started with Options.Volumes, and must have the Secret of GiveCredentials.
func (c *Cluster) InstallVolumes(ctx context.Context, folder string) error {
	definitions, err := os.ReadFile(filepath.Join(c.programs.volumes, snapshotDefinitions))
	if err != nil {
		return fmt.Errorf("reading the definitions of snapshots: %w", err)
	}
	if err := definition.Install(ctx, c.config, definitions); err != nil {
		return err
	}
	values, err := c.VolumesValues()
	if err != nil {
		return err
	}
	release := chart.Release{Name: VolumesRelease, Namespace: Namespace, Values: values}
	_, err = chart.Install(ctx, c.config, folder, release, io.Discard)
	return err
}

// VolumesValues are the values that the chart of the CSI driver is installed with.
func (c *Cluster) VolumesValues() (map[string]any, error) {
	today, err := chart.Load(volumesChart(c.options.Root))
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		// Another version of the chart would name an image that no node has.
		"image": map[string]any{"tag": today.AppVersion()},
		"snapshots": map[string]any{"enabled": true, "controller": map[string]any{"enabled": true},
			"classes": []any{map[string]any{"name": VolumesClass, "default": true}}},
		"storageClasses": []any{map[string]any{"name": VolumesClass, "volumeType": "block", "default": true}},
		"node":           map[string]any{"extraArgs": map[string]any{"device-directory": DeviceDirectory}},
	}
	maps.Copy(values, c.cloud.values(nil))
	return values, nil
}

// VolumesReady waits until the controller is ready and all nodes have registered the driver.
func (c *Cluster) VolumesReady(ctx context.Context) error {
	err := limits().Until(ctx, "all nodes can have volumes", func(ctx context.Context) error {
		nodes, err := c.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		trouble := []error{c.volumesController(ctx)}
		for i := range nodes.Items {
			trouble = append(trouble, c.HasVolumes(ctx, nodes.Items[i].Name))
		}
		return errors.Join(trouble...)
	})
	if err == nil {
		c.say("The CSI driver is installed: volumes have the StorageClass %s", VolumesClass)
	}
	return err
}

// volumesController returns why the controller of the CSI driver is not ready.
func (c *Cluster) volumesController(ctx context.Context) error {
	controller, err := c.api.AppsV1().Deployments(Namespace).Get(ctx, VolumesRelease+"-controller", metav1.GetOptions{})
	if err == nil && controller.Status.AvailableReplicas == 0 {
		err = fmt.Errorf("the controller is not ready: %+v", controller.Status.Conditions)
	}
	return err
}

// HasVolumes returns why a node cannot have volumes yet: its kubelet has not registered the driver.
func (c *Cluster) HasVolumes(ctx context.Context, node string) error {
	object, err := c.api.StorageV1().CSINodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, driver := range object.Spec.Drivers {
		if driver.Name == VolumesDriver {
			return nil
		}
	}
	return fmt.Errorf("node %s has not registered the driver: it has %v", node, object.Spec.Drivers)
}
