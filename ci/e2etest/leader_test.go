//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cgroup"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

const (
	// labelControlPlane makes the DaemonSet run a pod on a node.
	labelControlPlane = "node-role.kubernetes.io/control-plane"
	// takeover is how long a lease is not renewed at most: its 12 s, after a read of it that may be 1.32 s after it was
	// renewed, and as much until the next read. client-go reads it every 0.6 s, and up to 1.2 times that later. The
	// rest is for a machine that is busy.
	takeover = 12*time.Second + 2*1320*time.Millisecond + 3*time.Second
	// leaderless is how long nobody has the lease at most after its leader has given it back.
	leaderless = 3 * time.Second
)

// leaderReplaced proves that the standby goes on at once where the leader is stopped, as it is in a rolling update. No
// pod replaces the leader on its node: it would be there before the standby has read the lease, and could win.
func leaderReplaced(t *testing.T, l *lab) {
	t.Helper()
	node := l.manager(t).Spec.NodeName
	l.standBy(t, "worker-1")
	t.Cleanup(func() { l.label(t, node, labelControlPlane, new("")) }) // if it was not reached below
	l.label(t, node, labelControlPlane, nil)
	var before, after coordinationv1.LeaseSpec
	eventually(t, "the pod on worker-1 leads", func(context.Context) error {
		after = l.lease(t)
		if holder := holder(after); !strings.HasPrefix(holder, "worker-1_") {
			before = after
			return fmt.Errorf("%q leads", holder)
		}
		return nil
	})
	if before.RenewTime == nil || after.AcquireTime == nil {
		t.Fatalf("the lease was %+v and is %+v", before, after)
	}
	// The leader's last write of the lease gives it back.
	took := after.AcquireTime.Sub(before.RenewTime.Time)
	if took > leaderless {
		t.Errorf("nobody had the lease for %s, want %s at most", took, leaderless)
	}
	l.report.say(fmt.Sprintf("         nobody had the lease for %s", took.Round(time.Second/10)))
	l.label(t, node, labelControlPlane, new(""))
	l.standDown(t, "worker-1")
}

// leaderKilled proves that the standby goes on where a leader is killed and never ends its lease, and that traffic is
// not affected.
func leaderKilled(t *testing.T, l *lab) {
	t.Helper()
	namespace, _, d := l.webUnderLoad(t)
	leader := l.manager(t)
	l.standBy(t, "worker-1")
	if holder := holder(l.lease(t)); !strings.HasPrefix(holder, leader.Spec.NodeName+"_") {
		t.Fatalf("%s leads, want the pod on %s", holder, leader.Spec.NodeName)
	}

	began := time.Now()
	killed := 0
	var before, after coordinationv1.LeaseSpec
	eventually(t, "the pod on worker-1 leads", func(ctx context.Context) error {
		// Its kubelet starts it again at once, and it could win: who is killed again and again does not.
		n, err := kill(leader)
		killed += n
		after = l.lease(t)
		if holder := holder(after); err != nil || !strings.HasPrefix(holder, "worker-1_") {
			before = after
			return errors.Join(err, fmt.Errorf("%s leads, %d processes were killed", holder, killed))
		}
		return nil
	})
	another := l.expose(t, namespace, portHTTP, named("another"))
	if killed == 0 || before.RenewTime == nil || after.AcquireTime == nil {
		t.Fatalf("%d processes were killed, the lease was %+v and is %+v", killed, before, after)
	}
	took := after.AcquireTime.Sub(before.RenewTime.Time)
	if took > takeover {
		t.Errorf("the standby took the lease %s after the leader had last renewed it, want %s at most", took, takeover)
	}
	l.report.say(fmt.Sprintf("         %s after the leader had last renewed its lease, the standby had it",
		took.Round(time.Second/10)))
	l.report.measured(began, "the leader was killed, the standby had made a load balancer")
	l.awaitWeb(t, another, "worker-1", "worker-2")
	l.standDown(t, "worker-1")
	d.finish(t)
}

// standBy runs one more pod of the cloud controller manager on a node.
func (l *lab) standBy(t *testing.T, node string) {
	t.Helper()
	l.label(t, node, labelControlPlane, new(""))
	t.Cleanup(func() { l.label(t, node, labelControlPlane, nil) }) // if it was not reached below
	l.managers(t, 2)
}

// standDown ends that.
func (l *lab) standDown(t *testing.T, node string) {
	t.Helper()
	l.label(t, node, labelControlPlane, nil)
	// Who was killed waits for longer and longer; a new pod does not.
	pods := l.API().CoreV1().Pods(cluster.Namespace)
	if err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: selectManager}); err != nil {
		t.Fatal(err)
	}
	l.managers(t, 1)
}

// managers waits until so many pods of the cloud controller manager are there, and ready.
func (l *lab) managers(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods are ready", want), func(ctx context.Context) error {
		pods, err := l.API().CoreV1().Pods(cluster.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: selectManager})
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil && podReady(&pod) {
				ready++
			}
		}
		if ready != want || len(pods.Items) != want {
			return fmt.Errorf("%d of %d are", ready, len(pods.Items))
		}
		return nil
	})
}

// lease is who leads, and since when.
func (l *lab) lease(t *testing.T) coordinationv1.LeaseSpec {
	t.Helper()
	lease, err := l.API().CoordinationV1().Leases("kube-system").Get(t.Context(), "cloud-controller-manager",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Spec
}

func holder(lease coordinationv1.LeaseSpec) string { return ptr.Deref(lease.HolderIdentity, "") }

// kill kills the processes of a pod's containers, those of its pause container excepted, and says how many there were.
func kill(pod *corev1.Pod) (killed int, err error) {
	roots, err := cgroup.Hierarchies()
	if err != nil {
		return 0, err
	}
	for _, pid := range containerProcesses(roots, string(pod.UID)) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.HasPrefix(string(name), "/thalassa-cloud-controller-manager") {
			continue // it has ended, or is another one
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	return killed, nil
}

// containerProcesses are the processes in the cgroups of a pod, by their numbers here.
func containerProcesses(roots []string, uid string) (pids []int) {
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "cgroup.procs" || !strings.Contains(path, "/pod"+uid+"/") {
				return nil //nolint:nilerr // cgroups come and go
			}
			content, _ := os.ReadFile(path)
			for line := range strings.Lines(string(content)) {
				if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
					pids = append(pids, pid)
				}
			}
			return nil
		})
		if len(pids) > 0 {
			break // the others have the same ones
		}
	}
	return pids
}
