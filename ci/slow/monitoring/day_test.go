package monitoring

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// day is a day of a cluster in an hour: Nodes and Services come and go, others change the cloud, and a few requests
// fail.
func (r *running) day() {
	r.Helper()
	r.inhabit()
	r.pass(10 * time.Minute)
	r.disturb()
	r.join("worker-d")
	r.addService("newcomer")
	r.pass(5 * time.Minute)
	r.drift()
	r.pass(10 * time.Minute)
	r.lose("worker-d")
	r.registerNode("nobody")
	r.must(r.cluster.Delete(serviceNamed("newcomer")))
	r.credentials("wrong")
	r.pass(15 * time.Minute)
	r.credentials(emulator.DefaultToken)
	r.endFaults()
	r.orphan()
	r.pass(20 * time.Minute)
}

// disturb lets some requests to the cloud fail.
func (r *running) disturb() {
	r.Helper()
	if r.simulator == nil {
		for _, rule := range []fault.Rule{
			{Operation: "GET *", Count: 5, Effect: refuse(503)},
			{Operation: "POST *", Count: 2, Effect: fault.Effect{Kind: fault.Quota}}} {
			_, err := r.emulator.Inject(rule)
			r.must(err)
		}
		return
	}
	failed := 0
	r.simulator.Fail(func(request simulator.Request) *metav1.Status {
		if failed++; failed > 10 && request.Resource != "networks" {
			return nil
		}
		return forbidden()
	})
}
