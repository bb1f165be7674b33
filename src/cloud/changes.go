package cloud

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Changes reports what changes in the cloud, and returns when ctx ends. Each controller calls it once, and compares the
// objects concerned at once. The first report of each call has All set, because changes before it are not reported.
//
// Before a report, the data that the cloud compares with contains the change: the controllers do not call Refresh for
// it. The reports of one call come one after the other. A report only queues work, and returns soon.
type Changes func(ctx context.Context, report func(Change))

// Watch calls c, or returns at once if the cloud reports no changes.
func (c Changes) Watch(ctx context.Context, report func(Change)) {
	if c != nil {
		c(ctx, report)
	}
}

// Reports implements Changes for a cloud that calls Send. The zero value is ready to use. It is safe for concurrent
// use.
type Reports struct {
	mu    sync.Mutex
	calls map[*reportCall]bool // those that have not ended
}

// reportCall is a call of Changes.
type reportCall struct {
	mu     sync.Mutex // held during reports, so that they come one after the other
	report func(Change)
}

// Changes implements Changes.
func (r *Reports) Changes(ctx context.Context, report func(Change)) {
	call := &reportCall{report: report}
	call.mu.Lock() // until the first report has been made
	r.add(call)
	defer r.remove(call)
	report(Change{All: true})
	call.mu.Unlock()
	<-ctx.Done()
}

func (r *Reports) add(call *reportCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[*reportCall]bool{}
	}
	r.calls[call] = true
}

func (r *Reports) remove(call *reportCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, call)
}

// Send reports a change to all calls of Changes that have not ended.
func (r *Reports) Send(change Change) {
	r.mu.Lock()
	calls := slices.Collect(maps.Keys(r.calls))
	r.mu.Unlock()
	for _, call := range calls {
		call.send(change)
	}
}

func (c *reportCall) send(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report(change)
}

// Recovery reports the ends of outages, and returns when ctx ends.
type Recovery func(ctx context.Context, report func())

// Watch calls r, or returns at once if the cloud does not report the ends of outages.
func (r Recovery) Watch(ctx context.Context, report func()) {
	if r != nil {
		r(ctx, report)
	}
}

// Change describes what may have changed in the cloud, by this process or by others. More than one field may be set.
type Change struct {
	// All means that anything may have changed, such as after the connection to the cloud was interrupted.
	All bool
	// Service is the Service whose load balancer has changed, appeared or disappeared. The Service need not exist.
	Service types.NamespacedName
	// Node is the name of the Node whose machine has changed, appeared or disappeared. The Node need not exist.
	Node string
	// Routes means that routes have changed.
	Routes bool
}
