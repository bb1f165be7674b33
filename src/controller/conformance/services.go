package conformance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

func serviceLifeCycle(r *rig) {
	r.addService("web")
	r.wantLoadBalancer("new", 80, "a", "b")
	want(r, "addresses", len(r.service().Status.LoadBalancer.Ingress), 1)
	want(r, "finalizer", helpers.HasLBFinalizer(r.service()), true)
	r.changeService(func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
	r.wantLoadBalancer("with another port", 81, "a", "b")
	r.must(r.cluster.Delete(r.service()))
	r.settle()
	workerpooltest.Pass(r.cloud.Provision)
	r.react()
	_, exists := r.cloud.LoadBalancer(web())
	want(r, "load balancer exists", exists, false)
	want(r, "deleted Service is kept by its finalizer", r.service() != nil, false)
}

func targetsFollowNodes(r *rig) {
	r.addService("web")
	r.join("c")
	r.settle()
	r.react()
	r.wantLoadBalancer("after a Node joined", 80, "a", "b", "c")
	r.must(r.cluster.ChangeNode("a", func(n *corev1.Node) {
		metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelNodeExcludeBalancers, "")
	}))
	r.settle()
	r.wantLoadBalancer("after a Node was excluded", 80, "b", "c")
	r.must(r.cluster.Delete(r.node("b")))
	r.settle()
	r.wantLoadBalancer("after a Node was deleted", 80, "c")
}

func removedTarget(r *rig) {
	r.expected = []string{"LoadBalancerDrifted"}
	r.addService("web")
	r.cloud.RemoveTarget(web(), "b")
	r.react()
	r.wantLoadBalancer("after a target was removed", 80, "a", "b")
}

func orphan(r *rig) {
	r.expected = []string{"LoadBalancerOrphaned"}
	r.addService("web")
	r.addService("api") // nothing is deleted if most load balancers have no Service
	r.process.End()
	r.changeService(func(s *corev1.Service) { s.Finalizers = nil })
	r.must(r.cluster.Delete(r.service()))
	r.start()
	workerpooltest.Pass(time.Hour)
	_, exists := r.cloud.LoadBalancer(web())
	want(r, "load balancer exists", exists, !r.offered.LoadBalancerBehaviour.RemoveOrphans)
}

func restart(r *rig) {
	r.addService("web")
	before := r.cloud.Writes()
	r.start()
	r.react()
	want(r, "writes after a restart", r.cloud.Writes()-before, 0)
	r.wantLoadBalancer("after a restart", 80, "a", "b")
}

func quietHour(r *rig) {
	r.addService("web")
	workerpooltest.Pass(10 * time.Minute)
	reads, writes, requests := r.cloud.Reads(), r.cloud.Writes(), r.requests.Load()
	workerpooltest.Pass(time.Hour)
	want(r, "writes to the cloud", r.cloud.Writes()-writes, 0)
	if got := r.cloud.Reads() - reads; got > r.cloud.ReadsPerHour {
		r.Errorf("%d requests to the cloud in an hour, want at most %d", got, r.cloud.ReadsPerHour)
	}
	want(r, "requests to the API server", r.requests.Load()-requests, 0)
}
