package ironcore

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// afterOutage is the longest time from the end of an outage until a Service that was created in it has its address, in
// addition to the time that IronCore needs for the address.
const afterOutage = 10 * time.Second

// TestServiceCreatedInAnOutage has its address soon after the end of the outage, however long it was and whatever
// happened to requests meanwhile: the watches, which have ended, begin again at once.
func TestServiceCreatedInAnOutage(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("maintenance").ErrStatus
	for name, fault := range map[string]*metav1.Status{
		"refused connections": simulator.Fault(simulator.Unreachable), "server errors": &unavailable,
		"no answers": simulator.Fault(simulator.NoAnswer),
	} {
		for _, lasts := range []time.Duration{4 * time.Second, 16 * time.Second, time.Minute, time.Hour} {
			if fault.Reason == simulator.NoAnswer && lasts < client.DefaultCallTimeout {
				continue // nothing says that the Service's own request is lost, until it times out
			}
			t.Run(name+" for "+lasts.String(), func(t *testing.T) {
				inBubble(t, func(r *rig) {
					r.addMachine("a")
					c := r.withControllers(node("a"))
					r.server.Fail(func(simulator.Request) *metav1.Status { return fault })
					r.server.InterruptWatches()
					r.server.ForgetRequests()
					c.create(service())
					pass(lasts)
					if requests := len(r.server.Requests()); requests > 40+int(lasts/time.Second) {
						t.Errorf("%d requests in an outage of %s", requests, lasts)
					}
					r.server.Fail(nil)
					pass(provision + afterOutage)
					if firstAddress(c.web().Status.LoadBalancer) == "" {
						t.Errorf("the Service has no address %s after the end: %v", afterOutage, c.events())
					}
				})
			})
		}
	}
}

// TestStartInAnOutage: a process starts without the IronCore API, answers with an error in a limited time, decides
// nothing, and works when the API answers. Nothing ends the process.
func TestStartInAnOutage(t *testing.T) {
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

// TestMachinesInAnOutage: when the API does not answer any more, machines are not gone, and the store follows again
// when it answers.
func TestMachinesInAnOutage(t *testing.T) {
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
