package controller

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// keeps checks that a figure is within its budget.
func (r *rig) keeps(name string, figure float64) {
	r.Helper()
	b := must[budget.Budget](r)(budget.Named(name))
	r.Logf("%s: %s %s, at most %s", name, budget.Format(figure), b.Unit, budget.Format(b.Limit))
	if !b.Kept(figure) {
		r.Errorf("%s (%s): %s %s, at most %s; calls %v", b.Name, b.Work, budget.Format(figure), b.Unit,
			budget.Format(b.Limit), r.emulator.Counters())
	}
}

// calls returns how many reads and writes there were since the counters were reset.
func (r *rig) calls() (reads, writes int) {
	for operation, n := range r.emulator.Counters() {
		if strings.HasPrefix(operation, http.MethodGet) {
			reads += n
		} else {
			writes += n
		}
	}
	return reads, writes
}

// newClaims is a cluster in which each claim was made now.
type newClaims struct{ *kubernetes }

// Object implements Kubernetes.
func (newClaims) Object(_ context.Context, _ schema.GroupVersionResource, _, name string) (metav1.Object, error) {
	return &metav1.ObjectMeta{UID: types.UID(name), CreationTimestamp: metav1.Now()}, nil
}

// atOnce creates and attaches a number of volumes at once, in a cloud that takes 30 s for each step, at the default
// rate of requests. The process has run for an hour.
func atOnce(t *testing.T, volumes int, test func(r *rig, took time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slow(30*time.Second))
		r.Kubernetes = newClaims{&kubernetes{}}
		<-time.After(time.Hour)
		r.emulator.ResetCounters()
		machines := must[[]string](r)(r.emulator.AddMachines(volumes))
		began := time.Now()
		var all sync.WaitGroup
		for i := range volumes {
			node := fmt.Sprintf("node-%d", i)
			r.addNode(node, machines[i])
			all.Go(func() {
				request := claimed(strconv.Itoa(i))
				request.Parameters["csi.storage.k8s.io/pvc/name"] = strconv.Itoa(i)
				made := retried(r, r.CreateVolume, request).GetVolume()
				r.attach(made.GetVolumeId(), node)
			})
		}
		all.Wait()
		test(r, time.Since(began))
	})
}

// The number of reads does not grow with the number of volumes, and neither does the time.
func TestBudgetOfManyVolumes(t *testing.T) {
	var few int
	var one time.Duration
	atOnce(t, 1, func(_ *rig, took time.Duration) { one = took })
	atOnce(t, 10, func(r *rig, _ time.Duration) { few, _ = r.calls() })
	atOnce(t, 100, func(r *rig, took time.Duration) {
		reads, writes := r.calls()
		r.keeps("csi-volumes-reads", float64(reads))
		r.keeps("csi-volumes-growth", float64(reads-few))
		r.keeps("csi-volumes-writes", float64(writes)/100)
		r.keeps("csi-volumes-seconds", took.Seconds())
		r.keeps("csi-volumes-later", (took - one).Seconds())
		r.counts(100, 0)
		r.attachedAgain()
	})
}

// attachedAgain checks what it costs that another process is asked to attach the volumes, which are attached.
func (r *rig) attachedAgain() {
	r.Helper()
	all := r.volumes()
	r.restart()
	names := must[map[string]string](r)(r.Nodes.Names(r.Context()))
	r.emulator.ResetCounters()
	for _, v := range all {
		r.attach(v.ID, names[holder(v)])
	}
	reads, writes := r.calls()
	lists := r.written("GET /v1/volumes") + r.written("GET /v1/vpcs/{id}")
	r.keeps("csi-attached-calls", float64(reads+writes-lists)/float64(len(all)))
	if lists > 2 {
		r.Errorf("%d lists, want one of the volumes, and one of the VPC", lists)
	}
}

// The attacher lists all volumes every minute, and so does the health monitor.
func TestBudgetOfAQuietMinute(t *testing.T) {
	volumes := tier.Pick(100, 1000)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slow(0))
		cloud := r.observer()
		kind := must[resource.VolumeType](r)(cloud.Type(r.Context(), "block"))
		for i := range volumes {
			must[resource.Volume](r)(cloud.CreateVolume(r.Context(),
				resource.Volume{Name: fmt.Sprintf("pvc-%d", i), Size: 1, Type: kind.ID, Labels: r.Owner.Labels()}))
		}
		r.restart()
		r.emulator.ResetCounters()
		const minutes = 15
		for range minutes {
			if got := len(retried(r, r.ListVolumes, &csi.ListVolumesRequest{}).GetEntries()); got != volumes {
				t.Errorf("%d volumes are listed, want %d", got, volumes)
			}
			retried(r, r.ControllerListVolumeHealth, &csi.ControllerListVolumeHealthRequest{})
			<-time.After(time.Minute)
		}
		reads, writes := r.calls()
		r.keeps("csi-quiet-calls", float64(reads+writes)/minutes)
	})
}

// received counts the bytes of all answers.
type received struct {
	next  http.RoundTripper
	bytes atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *received) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err == nil {
		response.Body = receivedBody{response.Body, &c.bytes}
	}
	return response, err
}

type receivedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

// Read implements io.Reader.
func (b receivedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// amongClusters measures how many bytes the driver reads in ten minutes with changes, in a region in which a number of
// other clusters have a volume and a snapshot.
func amongClusters(t *testing.T, clusters int, test func(r *rig, read int64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slow(0))
		cloud, labels := r.observer(), r.Owner.Labels()
		kind := must[resource.VolumeType](r)(cloud.Type(r.Context(), "block"))
		for i := range clusters {
			name := fmt.Sprintf("k8s-%d", i)
			labels[label.CSICluster] = name
			v := must[resource.Volume](r)(cloud.CreateVolume(r.Context(),
				resource.Volume{Name: name, Size: 1, Type: kind.ID, Labels: labels}))
			must[resource.Snapshot](r)(cloud.CreateSnapshot(r.Context(),
				resource.Snapshot{Name: name, Volume: v.ID, Labels: labels}, ""))
		}
		// The times of changes are as long in all cases.
		<-time.After(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
		wire := &received{next: r.emulator.Transport()}
		r.restartBy(wire, 0)
		r.Controller.Kubernetes = &kubernetes{}
		for range 10 {
			<-time.After(time.Minute)
			retried(r, r.ListVolumes, &csi.ListVolumesRequest{})
			id := r.create("pvc-1")
			r.attach(id, "worker-1")
			retried(r, r.ControllerUnpublishVolume, unpublish(id, "worker-1"))
			retried(r, r.DeleteSnapshot, &csi.DeleteSnapshotRequest{SnapshotId: r.snapshot("snapshot-1", id)})
			retried(r, r.DeleteVolume, &csi.DeleteVolumeRequest{VolumeId: id})
		}
		test(r, wire.bytes.Load())
	})
}

// What the driver reads does not depend on the other clusters of the organisation.
func TestBudgetOfManyClusters(t *testing.T) {
	var alone int64
	amongClusters(t, 0, func(_ *rig, read int64) { alone = read })
	amongClusters(t, 200, func(r *rig, read int64) { r.keeps("csi-clusters-data", float64(read-alone)) })
}
