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
	r.changeService(func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
	workerpooltest.Pass(r.cloud.Provision)
	r.react()
	_, exists := r.cloud.LoadBalancer(web())
	want(r, "load balancer exists", exists, false)
	want(r, "finalizer of the deleted Service", helpers.HasLBFinalizer(r.service()), false)
}

func targetsFollowNodes(r *rig) {
	r.addService("web")
	r.join("c")
	r.settle()
	r.react()
	r.wantLoadBalancer("after a Node joined", 80, "a", "b", "c")
	workerpooltest.ChangeNode(r, r.cluster, "a", func(n *corev1.Node) {
		metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelNodeExcludeBalancers, "")
	})
	r.settle()
	r.wantLoadBalancer("after a Node was excluded", 80, "b", "c")
	workerpooltest.DeleteNode(r, r.cluster, "b")
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
	if err := r.cluster.CoreV1().Services(namespace).Delete(r.Context(), web().Name,
		metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
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
	reads, writes := r.cloud.Reads(), r.cloud.Writes()
	r.cluster.ClearActions()
	workerpooltest.Pass(time.Hour)
	want(r, "writes to the cloud", r.cloud.Writes()-writes, 0)
	if got := r.cloud.Reads() - reads; got > r.cloud.ReadsPerHour {
		r.Errorf("%d requests to the cloud in an hour, want at most %d", got, r.cloud.ReadsPerHour)
	}
	for _, action := range r.cluster.Actions() {
		r.Errorf("request to the API server: %s %s", action.GetVerb(), action.GetResource().Resource)
	}
}
