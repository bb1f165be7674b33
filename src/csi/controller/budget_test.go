package controller

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
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

// atOnce creates and attaches a number of volumes at once, in a cloud that takes 30 s for each step, at the default
// rate of requests. The process has run for an hour.
func atOnce(t *testing.T, volumes int, test func(r *rig, took time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, slow(30*time.Second))
		r.Kubernetes = &kubernetes{}
		<-time.After(time.Hour)
		r.emulator.ResetCounters()
		machines := must[[]string](r)(r.emulator.AddMachines(volumes))
		began := time.Now()
		var all sync.WaitGroup
		for i := range volumes {
			node := fmt.Sprintf("node-%d", i)
			r.addNode(node, machines[i])
			all.Go(func() {
				made := retried(r, r.CreateVolume, wanted(fmt.Sprintf("pvc-%d", i), resource.GiB)).GetVolume()
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
	})
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
				resource.Volume{Name: fmt.Sprintf("pvc-%d", i), Size: 1, Type: kind.ID}))
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
