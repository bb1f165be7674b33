package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/workload"
)

// IDs of checks of the CSI driver. Those of its workloads are of several objects.
const (
	csiWorkload = "csi-workload"
	csiNode     = "csi-node"
	csiConfig   = "csi-configuration"
	// heldVolume is that of PersistentVolumes whose deletion never ends.
	heldVolume = "volume-deletion"
)

// checkStorage checks the CSI driver, if the cloud has one, and volumes and snapshots that Kubernetes does not know.
func (d *doctor) checkStorage(ctx context.Context) {
	d.section = sectionStorage
	if d.session.inspection.Cloud.Storage == nil {
		d.add("csi", NotChecked, "This project has no CSI driver for the cloud.", "")
		return
	}
	d.checkStored(ctx)
	found, err := workload.FindCSI(ctx, d.session.client)
	if err != nil {
		d.fail("csi", err)
		return
	}
	if len(found.Unproven) > 0 {
		d.add("csi", NotChecked, fmt.Sprintf("%s: %v.", workload.Names(found.Unproven), workload.ErrUnproven),
			unprovenCSI)
	}
	switch {
	case found.Controller != nil || found.Node != nil:
		d.checkCSI(ctx, found.Controller, found.Node)
	case len(found.Unproven) == 0:
		d.add("csi", CheckOK, "The CSI driver of this project is not in this cluster.", "")
	}
}

const unprovenCSI = "If it is the CSI driver of this cluster, ask for the permission to create subjectaccessreviews, " +
	"or install the driver in the namespace kube-system."

// checkCSI checks a driver of which the cluster has at least one part. The node plug-in has no configuration.
func (d *doctor) checkCSI(ctx context.Context, controller, node *workload.Workload) {
	d.checkCSIWorkload("controller", controller)
	d.checkCSIWorkload("node plug-in", node)
	part := controller
	if part == nil {
		part = node
	}
	process, err := part.Process(ctx)
	if err != nil {
		d.fail(csiConfig, err)
		return
	}
	if controller != nil {
		d.checkCSIConfig(process)
	}
	name := driverName(process.Args)
	d.checkCSIDriver(ctx, name)
	d.checkCSINodes(ctx, name)
}

// checkCSIWorkload checks whether the pods of a part of the driver are ready.
func (d *doctor) checkCSIWorkload(part string, of *workload.Workload) {
	if of == nil {
		d.addOf(csiWorkload, part, CheckProblem, "It is not in this cluster, although the rest of the CSI driver is.",
			"Install the chart thalassa-csi.")
		return
	}
	text := fmt.Sprintf("%s: %d of %s ready.", of, of.Ready, count(int(of.Desired), "pod"))
	next := fmt.Sprintf("See kubectl -n %s describe pods, and their log.", of.Namespace)
	switch {
	case of.Desired == 0:
		d.addOf(csiWorkload, part, CheckProblem, of.String()+": no pod is wanted, so that nothing runs.",
			"Set replicas, or check the node selector of the DaemonSet.")
	case of.Ready == 0:
		d.addOf(csiWorkload, part, CheckProblem, text, next)
	case of.Ready < of.Desired:
		d.addOf(csiWorkload, part, CheckWarning, text, next)
	default:
		d.addOf(csiWorkload, part, CheckOK, text, "")
	}
}

// checkCSIConfig checks whether the driver is configured for the cloud and the cluster of the cloud controller manager.
func (d *doctor) checkCSIConfig(theirs workload.Process) {
	theirScope, err := d.scopeOf(valueOf(theirs.Args, "--cloud-config"), theirs.Environment)
	if err != nil {
		d.fail(csiConfig, fmt.Errorf("the configuration of the CSI driver cannot be read: %w", err))
		return
	}
	scope, err := d.scopeOf(d.session.inspection.ConfigFile, d.process.Environment)
	if err != nil {
		d.fail(csiConfig, err)
		return
	}
	if different := differences(scope, theirScope); len(different) > 0 {
		d.add(csiConfig, CheckProblem, "The CSI driver has another configuration than the cloud controller manager: "+
			strings.Join(different, "; ")+".", "Give both the same values, in their charts.")
		return
	}
	d.add(csiConfig, CheckOK, "The CSI driver is for the same cloud and cluster as the cloud controller manager.", "")
}

// differences describes the settings that are not the same.
func differences(scope, theirs map[string]string) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(scope)) {
		if scope[key] != theirs[key] {
			found = append(found, fmt.Sprintf("%s is %q, and %q here", key, theirs[key], scope[key]))
		}
	}
	return found
}

// scopeOf returns which cloud and cluster a configuration file is about.
func (d *doctor) scopeOf(file string, from cloud.Environment) (map[string]string, error) {
	for _, provider := range d.Providers {
		if provider.Name == d.session.inspection.Cloud.Name && provider.Scope != nil {
			return provider.Scope(file, from)
		}
	}
	return nil, nil
}

// defaultDriver is the name of the driver without a flag.
const defaultDriver = "csi.k8s.thalassa.cloud"

func driverName(args []string) string {
	if name := valueOf(args, "--driver-name"); name != "" {
		return name
	}
	return defaultDriver
}

// valueOf returns the last value of a flag, as --flag=value or in two words; "" if it has none.
func valueOf(args []string, flag string) (value string) {
	for i, arg := range args {
		if text, found := strings.CutPrefix(arg, flag+"="); found {
			value = text
		} else if arg == flag && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// checkCSIDriver checks whether Kubernetes knows the driver.
func (d *doctor) checkCSIDriver(ctx context.Context, name string) {
	_, err := d.session.client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		d.add("csi-driver", CheckProblem, "The CSIDriver "+name+" does not exist.",
			"Install the chart thalassa-csi, with csiDriver.create.")
	case err != nil:
		d.fail("csi-driver", err)
	default:
		d.add("csi-driver", CheckOK, "The CSIDriver "+name+" exists.", "")
	}
}

// checkCSINodes checks whether the driver is registered on each Node of this cloud.
func (d *doctor) checkCSINodes(ctx context.Context, name string) {
	listed, err := d.session.client.StorageV1().CSINodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		d.fail(csiNode, err)
		return
	}
	registered := map[string]bool{}
	for _, node := range listed.Items {
		registered[node.Name] = slices.ContainsFunc(node.Spec.Drivers,
			func(one storagev1.CSINodeDriver) bool { return one.Name == name })
	}
	number := 0
	for _, one := range d.ours {
		if registered[one] {
			number++
			continue
		}
		d.addOf(csiNode, "node/"+one, CheckWarning, "The CSI driver "+name+" is not registered on it, so that pods "+
			"with volumes do not start.", nodeWithoutCSI)
	}
	d.add("csi-nodes", CheckOK, fmt.Sprintf("The CSI driver is registered on %d of %s of this cloud.", number,
		count(len(d.ours), "Node")), "")
}

const nodeWithoutCSI = "See whether the node plug-in runs on it: its DaemonSet may have a node selector, or lack a " +
	"toleration."

// checkStored counts volumes and snapshots of this cluster that Kubernetes does not know.
func (d *doctor) checkStored(ctx context.Context) {
	var found Orphans
	if err := d.findStored(ctx, d.session, &found); err != nil {
		d.add("orphaned-storage", NotChecked, err.Error(), "Ask for the permission, in Kubernetes or in the cloud.")
		return
	}
	if d.session.uid == "" && len(found.Stored) > 0 {
		d.add("orphaned-storage", NotChecked, "Volumes and snapshots in the cloud without a PersistentVolume or "+
			"VolumeSnapshotContent may be another cluster's: "+cloud.ErrNoClusterUID.Error()+".",
			"Ask for the permission.")
		return
	}
	if len(found.Stored) == 0 {
		d.add("orphaned-storage", CheckOK, "Each volume and snapshot of this cluster in the cloud has a "+
			"PersistentVolume or a VolumeSnapshotContent.", "")
		return
	}
	number := map[string]int{}
	for _, one := range found.Stored {
		number[one.Kind]++
	}
	d.add("orphaned-storage", CheckWarning, fmt.Sprintf("The cloud has %s and %s of this cluster without a "+
		"PersistentVolume or VolumeSnapshotContent. They may cost money.",
		count(number[string(cloud.Volume)], "volume"), count(number[string(cloud.Snapshot)], "snapshot")),
		"See kubectl thalassa orphans.")
}

// checkHeldVolumes adds a problem for each PersistentVolume that waits for the CSI driver, if no controller of it runs.
func (d *doctor) checkHeldVolumes(ctx context.Context) {
	all, err := d.session.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		d.fail(heldVolume, fmt.Errorf("listing PersistentVolumes, of which released ones may wait for the CSI "+
			"driver: %w", err))
		return
	}
	held := slices.DeleteFunc(all.Items, func(one corev1.PersistentVolume) bool { return !isHeld(&one) })
	if len(held) == 0 {
		return
	}
	found, err := workload.FindCSI(ctx, d.session.client)
	if err != nil || len(found.Unproven) > 0 || found.Controller != nil && found.Controller.Ready > 0 {
		return // checkStorage reports the first two
	}
	name := heldDriver(ctx, found)
	why := fmt.Sprintf("No controller of the driver %s was found in this cluster.", name)
	first := "Install the CSI driver again, with the chart thalassa-csi, and wait."
	if found.Controller != nil {
		why = fmt.Sprintf("No pod of %s is ready.", found.Controller)
		first = "Correct why the CSI driver does not work, and wait."
	}
	for i := range held {
		if one := &held[i]; one.Spec.CSI.Driver == name {
			d.addKind("The volume is never deleted", heldVolume, "persistentvolume/"+one.Name, CheckProblem,
				fmt.Sprintf("It is not in use any more, and stays until the CSI driver deletes volume %s. %s",
					one.Spec.CSI.VolumeHandle, why), d.endVolume(one, first))
		}
	}
}

// heldDriver returns the name of the driver that is not there, or of which only parts are.
func heldDriver(ctx context.Context, found workload.CSI) string {
	for _, part := range []*workload.Workload{found.Controller, found.Node} {
		if part == nil {
			continue
		}
		if process, err := part.Process(ctx); err == nil {
			return driverName(process.Args)
		}
	}
	return defaultDriver
}

// heldFor is how long a PersistentVolume waits at least that is a problem: a driver that is not found, such as another
// program with its name, needs less.
const heldFor = 5 * time.Minute

// isHeld reports whether a PersistentVolume has not been in use for some time, and exists until a CSI driver has
// deleted or detached its volume.
func isHeld(one *corev1.PersistentVolume) bool {
	if one.Spec.CSI == nil || one.Status.Phase == corev1.VolumeBound {
		return false
	}
	if one.DeletionTimestamp == nil {
		return one.Status.Phase == corev1.VolumeReleased &&
			one.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
			time.Since(ptr.Deref(one.Status.LastPhaseTransitionTime, metav1.Time{}).Time) > heldFor
	}
	return time.Since(one.DeletionTimestamp.Time) > heldFor && slices.ContainsFunc(one.Finalizers, func(f string) bool {
		return f == provisionerFinalizer || strings.HasPrefix(f, attacherFinalizers)
	})
}

// Finalizers of the sidecars of CSI drivers on PersistentVolumes. The attacher's ends with the name of the driver.
const (
	provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
	attacherFinalizers   = "external-attacher/"
)

// endVolume returns how the deletion of a PersistentVolume is finished. First is the step that lets the CSI driver do
// so.
func (d *doctor) endVolume(of *corev1.PersistentVolume, first string) string {
	return first + fmt.Sprintf(" It deletes the volume, and then the PersistentVolume. If that is not possible, "+
		"detach the volume in the cloud if a machine still has it, and remove the PersistentVolume:\n"+
		"  kubectl delete persistentvolume %[1]s --wait=false\n"+
		"  kubectl patch persistentvolume %[1]s --type=merge --patch '{\"metadata\": {\"finalizers\": null}}'\n"+
		"Volume %[2]s then stays in the cloud with its data and may cost money. Show and delete it:\n"+
		"  kubectl thalassa orphans --cloud-config=FILE\n  kubectl thalassa orphans delete %[2]s --cloud-config=FILE\n"+
		"See %[3]s", of.Name, of.Spec.CSI.VolumeHandle, d.Build.Document("docs/guides/volumes.md#uninstall-it"))
}
