package traffic

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// moment is what a load balancer does from a time on, until the next moment.
type moment struct {
	// began and ended are those of the change that made it so.
	began, ended time.Time
	// serves is nil when the load balancer has gone.
	serves *traffic.LoadBalancer
}

// recorder is a data plane that records each of its calls, so that no state is missed, however short it was. The data
// plane inside carries the calls out.
type recorder struct {
	emulator.DataPlane

	mu      sync.Mutex
	moments map[string][]moment // by the identity of the load balancer
	changed chan struct{}       // closed with the next moment
}

func newRecorder(plane emulator.DataPlane) *recorder {
	return &recorder{DataPlane: plane, moments: map[string][]moment{}, changed: make(chan struct{})}
}

// Serve implements emulator.DataPlane.
func (w *recorder) Serve(lb traffic.LoadBalancer) {
	began := time.Now()
	w.DataPlane.Serve(lb)
	w.record(lb.Identity, moment{began, time.Now(), &lb})
}

// Remove implements emulator.DataPlane.
func (w *recorder) Remove(identity string) {
	began := time.Now()
	w.DataPlane.Remove(identity)
	w.record(identity, moment{began, time.Now(), nil})
}

// record adds a moment of a load balancer.
func (w *recorder) record(identity string, m moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moments[identity] = append(w.moments[identity], m)
	close(w.changed)
	w.changed = make(chan struct{})
}

// since returns what a load balancer did from a time on: the moment at that time, and those that followed.
func (w *recorder) since(identity string, begin time.Time) []moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.moments[identity]
	first := slices.IndexFunc(all, func(m moment) bool { return m.ended.After(begin) })
	if first < 0 {
		first = len(all)
	}
	return slices.Clone(all[max(first-1, 0):])
}

// await returns the first moment, from the present one on, of which is holds. It waits without polling.
func (w *recorder) await(ctx context.Context, identity string, is func(traffic.LoadBalancer) error) (moment, error) {
	for {
		w.mu.Lock()
		changed, all := w.changed, w.moments[identity]
		w.mu.Unlock()
		err := fmt.Errorf("load balancer %s serves nothing", identity)
		if len(all) > 0 && all[len(all)-1].serves != nil {
			m := all[len(all)-1]
			if err = is(*m.serves); err == nil {
				return m, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return moment{}, err
		}
	}
}
