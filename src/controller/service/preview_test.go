package service

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// previews returns what a process that only looks says about each Service: one line, with the plan.
func (r *rig) previews() map[string]string {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	factory := informers.NewSharedInformerFactory(r.cluster, 0)
	c, err := NewPreviewer(Options{Provider: r.cloud, Behaviour: r.behaviour,
		Services: factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
		EndpointSlices: factory.Discovery().V1().EndpointSlices()})
	if err != nil {
		r.Fatal(err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer stop()
	if err := c.WaitForSync(ctx); err != nil {
		r.Fatal(err)
	}
	services, err := c.Services()
	if err != nil {
		r.Fatal(err)
	}
	found := map[string]string{}
	for _, one := range services {
		preview := c.Preview(ctx, one)
		text := strings.ReplaceAll(preview.Comparison.Plan.String(), "\n", "; ")
		if preview.AddFinalizer {
			text = "finalizer; " + text
		}
		if preview.Deleting {
			text = "deleting: " + text
		}
		if preview.Err != nil {
			text = preview.Err.Error()
		}
		found[one.Name] = text
	}
	return found
}

// TestPreview: it shows the writes that the controller then makes, and writes nothing.
func TestPreview(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.addService("gone")
		r.setEndpoints("near", "a")
		r.addService("near", localPolicy)
		r.waitForSync()
		r.stop()
		r.addService("new")
		r.addService("other", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		r.addNode("c")
		r.deleteService("gone")
		r.takeKubernetesWrites()
		r.events()
		before := len(r.cloud.writes)
		found := r.previews()
		want(r, "writes to the cloud", len(r.cloud.writes)-before, 0)
		want(r, "writes to Kubernetes", len(r.takeKubernetesWrites()), 0)
		want(r, "events", len(r.events()), 0)
		want(r, "Services", len(found), 4)
		want(r, "preview of a Service whose endpoint is on none of the new nodes", found["near"], "")
		for name, begin := range map[string]string{"web": "update ", "new": "finalizer; create ",
			"gone": "deleting: delete "} {
			if !strings.HasPrefix(found[name], begin) {
				t.Errorf("the preview of %s is %q, want one that begins with %q", name, found[name], begin)
			}
		}
		r.start(1)
		workerpooltest.Pass(driftPeriod)
		r.stop()
		want(r, "writes of the controller", len(r.cloud.writes)-before, 3)
		for name, text := range r.previews() {
			want(r, "preview of "+name+" afterwards", text, "")
		}
	})
}
