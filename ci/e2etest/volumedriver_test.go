//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

const (
	// provisionerLease is the Lease of csi-provisioner.
	provisionerLease = "csi-k8s-thalassa-cloud"
	// sidecarTakeover is how long the Lease of a sidecar is not renewed at most: its 15 s, after a read of it that may
	// be 11 s after it was renewed, and as much until the next read. A sidecar reads it every 5 s, and up to 1.2 times
	// that later. The rest is for a machine that is busy.
	sidecarTakeover = 15*time.Second + 2*11*time.Second + 5*time.Second
	// afterTakeover is the longest time from then on until the creation that the leader before has begun is finished.
	afterTakeover = 20 * time.Second
)

// driverUpgraded proves that the release of the old chart becomes one of today's, that a pod writes to its volume
// meanwhile, and that the creation of a volume is finished by another pod, without a second volume. The leader that has
// sent it does not get to know of the volume before it is stopped.
func driverUpgraded(t *testing.T, l *lab) {
	t.Helper()
	const node = "worker-1"
	v := l.claim(t, "kept")
	v.run(t, "writer", node, appending)
	plugin, err := l.plugin(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	wanted, created := v.claim(t, "wanted"), time.Now()
	visible := l.hideVolumes(t)
	wanted.create(t, "pod", node)
	eventually(t, "the cloud has the volume", func(context.Context) error { return l.hasCreated(created) })
	lease, began := l.provisioner(t), time.Now()
	l.upgradeDriver(t)
	eventually(t, "the leader is stopped", func(ctx context.Context) error {
		return l.stopped(ctx, holder(lease))
	})
	if claim := wanted.get(t); claim.Status.Phase != corev1.ClaimPending {
		t.Errorf("the claim is %s, although its leader was stopped before it knew of the volume", claim.Status.Phase)
	}
	visible()
	wanted.boundByAnother(t, lease)
	l.report.measured(began, "the chart was upgraded, the claim was bound")
	eventually(t, "all pods of the driver are replaced", l.driverRolledOut)
	l.report.measured(began, "the chart was upgraded, all pods of the driver were replaced")
	if now, err := l.plugin(t.Context(), node); err != nil || now.UID == plugin.UID {
		t.Errorf("the node plug-in is still pod %s (%v)", plugin.Name, err)
	}
	wanted.ready(t, "pod")
	v.appends(t, "writer")
	if err := l.hasCreated(created); err != nil {
		t.Error(err)
	}
}

// hideVolumes lets the cloud lose the answer to the next creation of a volume, and list no volume that is created until
// the function is called that it returns.
func (l *lab) hideVolumes(t *testing.T) (end func()) {
	t.Helper()
	var rules []string
	end = func() { l.Cloud().ClearFaults(rules...) }
	t.Cleanup(end) // if it was not reached
	for _, rule := range []fault.Rule{
		{Operation: "POST /v1/volumes", Count: 1, Effect: fault.Effect{Kind: fault.Drop}},
		{Operation: "GET /v1/volumes", Effect: fault.Effect{Kind: fault.Stale, Delay: time.Hour}},
	} {
		id, err := l.Cloud().Inject(rule)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, id)
	}
	return end
}

// upgradeDriver makes the release of the driver one of today's chart.
func (l *lab) upgradeDriver(t *testing.T) {
	t.Helper()
	values, err := l.VolumesValues()
	if err != nil {
		t.Fatal(err)
	}
	// Both charts may make the same pods of the same values.
	values["controller"] = map[string]any{"logVerbosity": 3}
	values["node"].(map[string]any)["logVerbosity"] = 3
	if _, err := chart.Upgrade(t.Context(), l.Config(), filepath.Join(l.root, "charts", cluster.VolumesRelease),
		chart.Release{Name: cluster.VolumesRelease, Namespace: cluster.Namespace, Values: values}, nil); err != nil {
		t.Fatal(err)
	}
}

// driverRolledOut returns what is missing until all pods of the driver are new and ready.
func (l *lab) driverRolledOut(ctx context.Context) error {
	apps := l.API().AppsV1()
	controller, failed := apps.Deployments(cluster.Namespace).Get(ctx, cluster.VolumesRelease+"-controller",
		metav1.GetOptions{})
	plugins, err := apps.DaemonSets(cluster.Namespace).Get(ctx, cluster.VolumesRelease+"-node", metav1.GetOptions{})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	d, want := controller.Status, *controller.Spec.Replicas
	if d.ObservedGeneration != controller.Generation || d.UpdatedReplicas != want || d.AvailableReplicas != want ||
		d.Replicas != want {
		return fmt.Errorf("the controller is at %+v", d)
	}
	n := plugins.Status
	if n.ObservedGeneration != plugins.Generation || n.UpdatedNumberScheduled != n.DesiredNumberScheduled ||
		n.NumberAvailable != n.DesiredNumberScheduled {
		return fmt.Errorf("the node plug-in is at %+v", n)
	}
	return nil
}

// driverRestarted proves that a pod goes on with its volume while the kubelet and the node plug-in restart, and that
// pods can mount volumes afterwards.
func driverRestarted(t *testing.T, l *lab) {
	t.Helper()
	const node = "worker-1"
	v := l.claim(t, "kept")
	v.run(t, "writer", node, appending)
	written := v.file(t, "writer", "write", dataPath, dataSize)

	if err := l.Node(node).RestartKubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.registeredAgain(t, node)
	v.appends(t, "writer")

	plugin, err := l.plugin(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.API().CoreV1().Pods(plugin.Namespace).Delete(t.Context(), plugin.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is another node plug-in", func(ctx context.Context) error {
		now, err := l.plugin(ctx, node)
		if err == nil && (now.UID == plugin.UID || !podReady(now)) {
			err = fmt.Errorf("pod %s is %s", now.Name, now.Status.Phase)
		}
		return err
	})
	v.appends(t, "writer")
	v.wantSum(t, "writer", dataPath, written)
	v.run(t, "beside", node)
	v.wantSum(t, "beside", dataPath, written)
	v.claim(t, "new").run(t, "new", node)
	v.stop(t, "writer")
	v.wantSum(t, "beside", dataPath, written)
}

// registeredAgain waits until the kubelet knows the driver and has a plug-in that is ready.
func (l *lab) registeredAgain(t *testing.T, node string) {
	t.Helper()
	eventually(t, "the driver is registered on "+node, func(ctx context.Context) error {
		pod, err := l.plugin(ctx, node)
		if err == nil && !podReady(pod) {
			err = fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		return errors.Join(err, l.HasVolumes(ctx, node))
	})
}

// stopped returns an error while csi-provisioner runs in a pod.
func (l *lab) stopped(ctx context.Context, name string) error {
	pod, err := l.API().CoreV1().Pods(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, container := range pod.Status.ContainerStatuses {
		if container.Name == "csi-provisioner" && container.State.Terminated != nil {
			return nil
		}
	}
	return fmt.Errorf("pod %s is %s", name, pod.Status.Phase)
}

// hasCreated returns an error unless the cloud has created one volume since then.
func (l *lab) hasCreated(since time.Time) error {
	created := 0
	for _, write := range l.writesSince(since) {
		if write.Operation == "POST /v1/volumes" && write.Identity != "" {
			created++
		}
	}
	if created != 1 {
		return fmt.Errorf("%d volumes were created, want one", created)
	}
	return nil
}

// provisioner is the Lease of csi-provisioner.
func (l *lab) provisioner(t *testing.T) coordinationv1.LeaseSpec {
	t.Helper()
	lease, err := l.API().CoordinationV1().Leases(cluster.Namespace).Get(t.Context(), provisionerLease,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Spec
}

// boundByAnother waits until the claim is bound, and wants another leader to do this soon after the one before has left
// the Lease. In a rolling update, the leader may change twice.
func (v volume) boundByAnother(t *testing.T, before coordinationv1.LeaseSpec) {
	t.Helper()
	first := holder(before)
	eventually(t, "the claim is bound", func(ctx context.Context) error {
		now := v.lab.provisioner(t)
		if holder(now) != holder(before) {
			took := now.AcquireTime.Sub(before.RenewTime.Time)
			v.lab.report.say(fmt.Sprintf("         %s after %s had last renewed its Lease, %s had it",
				took.Round(time.Second/10), holder(before), holder(now)))
			if took > sidecarTakeover {
				t.Errorf("%s had the Lease %s after it was last renewed, want %s at most", holder(now), took,
					sidecarTakeover)
			}
		}
		before = now
		if claim := v.get(t); claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s, and %s leads: %s", claim.Status.Phase, holder(now), v.events(ctx, v.name))
		}
		return nil
	})
	if holder(before) == first {
		t.Errorf("%s still leads", first)
	}
	if took := time.Since(before.AcquireTime.Time); took > afterTakeover {
		t.Errorf("the claim is bound %s after %s has the Lease, want %s at most", took, holder(before), afterTakeover)
	}
}

// get is the claim of the volume.
func (v volume) get(t *testing.T) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim, err := v.lab.API().CoreV1().PersistentVolumeClaims(v.namespace).Get(t.Context(), v.name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}
