package manager

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/config"
	fakecloud "k8s.io/cloud-provider/fake"
	"k8s.io/component-base/metrics/prometheus/controllers"
)

// TestRoutesAreMade by the controller that the flags ask for, with any cloud that has routes, within --cluster-cidr.
func TestRoutesAreMade(t *testing.T) {
	cloud := &fakecloud.Cloud{RouteMap: map[string]*fakecloud.Route{}}
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
	})
	settings := &config.CloudControllerManagerConfiguration{}
	settings.KubeCloudShared.ClusterName, settings.KubeCloudShared.ClusterCIDR = "blue", "10.244.0.0/16"
	factory := informers.NewSharedInformerFactory(client, 0)
	made, err := newRouteController(environment{cloud: cloud, client: client, informers: factory, settings: settings,
		metrics: controllers.NewControllerManagerMetrics("test")})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.collectors) == 0 {
		t.Error("the controller has no metrics")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	factory.StartWithContext(ctx)
	go func() { made.run(ctx); close(ended) }()
	eventually(t, func() error {
		routes, err := cloud.ListRoutes(ctx, "blue")
		if err == nil && len(routes) == 0 {
			return notYetError("no route in the cloud")
		}
		return err
	})
	stop()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the controller does not end")
	}
	factory.Shutdown()
}
