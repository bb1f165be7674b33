package ironcore

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
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
					c := r.withControllers(logr.Logger{}, node("a"))
					r.server.Fail(func(simulator.Request) *metav1.Status { return fault })
					r.server.InterruptWatches()
					r.server.ForgetRequests()
					c.createService()
					pass(lasts)
					if requests := len(r.server.Requests()); requests > 40+int(lasts/time.Second) {
						t.Errorf("%d requests in an outage of %s", requests, lasts)
					}
					r.server.Fail(nil)
					pass(provision + afterOutage)
					if firstAddress(c.service().Status.LoadBalancer) == "" {
						t.Errorf("the Service has no address %s after the end: %v", afterOutage, c.process.Events())
					}
				})
			})
		}
	}
}
