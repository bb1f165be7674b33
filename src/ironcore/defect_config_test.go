package ironcore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// cloudConfig returns the path of a cloud-config file.
func cloudConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config")
	content := "networkName: " + testNetwork + "\nclusterName: " + testCluster + "\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newCloud makes the cloud as the program does, without flags of the cloud.
func newCloud(t *testing.T, process cloud.Options) error {
	t.Helper()
	_, err := NewOptions("test").New(t.Context(), process)
	return err
}

// TestDefect13_ClusterNames: two different names of the cluster are an error that names both.
func TestDefect13_ClusterNames(t *testing.T) {
	err := newCloud(t, cloud.Options{ConfigFile: cloudConfig(t), ClusterName: "green"})
	wantError(t, "error", err, testCluster, "green", "--cluster-name")
}

// TestDefect22_MissingFlags: without a file, the error names the flag.
func TestDefect22_MissingFlags(t *testing.T) {
	wantError(t, "error without a cloud-config", newCloud(t, cloud.Options{}), "--cloud-config")
	wantError(t, "error without a kubeconfig", newCloud(t, cloud.Options{ConfigFile: cloudConfig(t)}),
		"--ironcore-kubeconfig")
}

// TestDefect23_APIIsDown: a process starts without the IronCore API, answers with an error in a limited time, decides
// nothing, and works when the API answers. Nothing ends the process.
func TestDefect23_APIIsDown(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.Unreachable) })
		c := connect(r.T, r.server, testConfig(), false)
		defer c.labeler.queue.ShutDown()
		c.store.Start(r.ctx)
		started := time.Now()
		state, err := c.offer().Machines.State(r.ctx, node("a"), time.Now())
		want(r, "error is of the store", errors.Is(err, store.ErrNotSynced), true)
		want(r, "state", state, cloud.MachineUnknown)
		want(r, "it takes less than a minute", time.Since(started) < time.Minute, true)
		_, err = c.balancers.Diff(r.ctx, service(), targets(c, "a"), false)
		want(r, "error of Diff", errors.Is(err, store.ErrNotSynced), true)
		_, err = c.balancers.PlanDelete(r.ctx, service(), false)
		want(r, "error of PlanDelete", errors.Is(err, store.ErrNotSynced), true)
		want(r, "is ready", c.ready() == nil, false)
		r.server.Fail(nil)
		pass(time.Minute)
		state, err = c.offer().Machines.State(r.ctx, node("a"), time.Now())
		want(r, "error when the API answers", err, nil)
		want(r, "error of readiness when the API answers", c.ready(), nil)
		want(r, "state when the API answers", state, cloud.MachineRunning)
	})
}

// TestDefect23_APIGoesDown: when the API does not answer any more, machines are not gone, and the store follows again
// when it answers.
func TestDefect23_APIGoesDown(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		machines := c.offer().Machines
		r.server.Fail(func(simulator.Request) *metav1.Status { return simulator.Fault(simulator.Unreachable) })
		r.server.InterruptWatches()
		pass(time.Hour)
		state, err := machines.State(r.ctx, node("a"), time.Now())
		want(r, "error of State", err, nil)
		want(r, "State", state, cloud.MachineRunning)
		_, err = machines.Confirm(r.ctx, node("a"))
		want(r, "Confirm fails", err != nil, true)
		want(r, "is ready", c.ready() == nil, false)
		want(r, "CheckCredentials fails", machines.CheckCredentials(r.ctx, nil) != nil, true)
		r.server.DeleteMachine("a")
		r.server.Fail(nil)
		pass(time.Minute)
		synctest.Wait()
		state, _ = machines.State(r.ctx, node("a"), time.Now())
		want(r, "State when the API answers", state, cloud.MachineGone)
	})
}
