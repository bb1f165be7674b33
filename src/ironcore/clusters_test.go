package ironcore

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

const (
	greenUID  = types.UID("0a1b2c3d-9999-8888-7777-666666666666") // begins as the UID of the other Service
	greenName = "0a1b2c3d999988887777666666666666"
)

func greenService(changes ...func(*corev1.Service)) *corev1.Service {
	one := service(changes...)
	one.UID = greenUID
	return one
}

// twoClusters runs a test with two clusters in one namespace and network: blue has the machine a, green has b. Both
// have a Service with the same name.
func twoClusters(t *testing.T, test func(r *rig, blue, green *Cloud)) {
	t.Helper()
	for name, selector := range map[string]bool{"destinations": false, "selector": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.selector = selector
				r.addMachine("a")
				r.addMachine("b")
				config := testConfig()
				config.ClusterName = "green"
				blue, green := r.start(), r.startWith(config)
				r.label(blue, fake.NewClientset(node("a")))
				r.label(green, fake.NewClientset(node("b")))
				r.reconcile(blue, service(), "a")
				r.reconcile(green, greenService(), "b")
				pass(time.Minute)
				test(r, blue, green)
			})
		})
	}
}

// TestTwoClusters: each cluster has its own load balancer and destinations, and lists only these.
func TestTwoClusters(t *testing.T) {
	twoClusters(t, func(r *rig, blue, green *Cloud) {
		want(r, "destinations of blue", r.destinations(serviceName), "10.0.0.1")
		want(r, "destinations of green", r.destinations(greenName), "10.0.0.2")
		for name, c := range map[string]*Cloud{serviceName: blue, greenName: green} {
			managed, err := c.balancers.ListManaged(r.ctx)
			want(r, "error", err, nil)
			want(r, "managed", len(managed) == 1 && managed[0].Name == name, true)
		}
		r.server.ForgetRequests()
		r.reconcile(blue, service(setPort(443)), "a")
		r.apply(blue, service(), r.planDelete(blue, service(), false).Plan)
		pass(time.Minute)
		want(r, "blue exists", r.planDelete(blue, service(), true).Exists, false)
		for _, write := range r.server.Writes() {
			want(r, "object of "+write, strings.HasSuffix(write, "/"+serviceName), true)
		}
		want(r, "destinations of green", r.destinations(greenName), "10.0.0.2")
		want(r, "plan of green", r.diff(green, greenService(), "b").Plan.String(), "")
	})
}

// TestDestinationsBesideSelector: IronCore updates the destinations of a cluster that lets it choose them, although the
// other cluster in the namespace and network writes its own. So it does beside load balancers of the other cluster that
// have no selector, because the program that this one replaces has created them: nothing is written for them until
// there is another cluster.
func TestDestinationsBesideSelector(t *testing.T) {
	for name, former := range map[string]bool{"new": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				for _, machine := range []string{"a", "b", "d"} {
					r.addMachine(machine)
				}
				if former {
					r.former().ensure(serviceName, service(), "a")
				}
				blue := r.start()
				reported := r.servicesOf(blue)
				r.reconcile(blue, service(), "a")
				want(r, "selects nothing", r.balancer().Spec.NetworkInterfaceSelector != nil, !former)
				pass(time.Minute)
				reported()
				r.selector = true
				config := testConfig()
				config.ClusterName = "green"
				green := r.startWith(config)
				nodes := fake.NewClientset(node("b"))
				r.label(green, nodes)
				r.reconcile(green, greenService(), "b")
				want(r, "blue is compared", reported(), former)
				r.server.ForgetRequests()
				r.reconcile(blue, service(), "a")
				want(r, "writes of blue", len(r.server.Writes()), map[bool]int{true: 1}[former])
				r.addMachine("c")
				_, err := nodes.CoreV1().Nodes().Create(r.ctx, node("c"), metav1.CreateOptions{})
				want(r, "error", err, nil)
				pass(time.Second)
				want(r, "destinations of green", r.destinations(greenName), "10.0.0.2 10.0.0.4")
				want(r, "destinations of blue", r.destinations(serviceName), "10.0.0.1")
				r.reconcile(blue, service(), "a", "d")
				want(r, "later destinations of blue", r.destinations(serviceName), "10.0.0.1 10.0.0.3")
			})
		})
	}
}

// servicesOf returns what reports whether the Service has been reported as changed since the last call.
func (r *rig) servicesOf(c *Cloud) func() bool {
	var reported atomic.Bool
	go c.store.Changes(r.ctx, func(change cloud.Change) {
		if change.Service == (types.NamespacedName{Namespace: "shop", Name: "web"}) {
			reported.Store(true)
		}
	})
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		return reported.Swap(false)
	}
}

// TestTwoClustersShareNoMachine: a Node that names a machine of the other cluster changes neither its label nor its
// prefixes.
func TestTwoClustersShareNoMachine(t *testing.T) {
	twoClusters(t, func(r *rig, blue, green *Cloud) {
		want(r, "error of green", green.offer().Routes.Create(r.ctx, testNetwork, podsOf(2)), nil)
		synctest.Wait()
		r.server.ForgetRequests()
		nodes := fake.NewClientset(node("a"), node("b"))
		third := r.start() // another process of blue
		r.label(third, nodes)
		machine, _ := r.server.Machine("b")
		want(r, "label", machine.Labels[label.Cluster], "green")
		routes := blue.offer().Routes
		other := podsOf(3)
		other.Gateway = podsOf(2).Gateway
		err := routes.Create(r.ctx, testNetwork, other)
		wantError(r, "error", err, "green", "blue", interfaceOf("b"))
		for _, route := range r.routes(blue) {
			want(r, "managed by blue", route.Managed, false)
			want(r, "Delete fails", routes.Delete(r.ctx, testNetwork, route) != nil, true)
		}
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
		want(r, "prefixes", r.prefixes(interfaceOf("b")), "10.244.2.0/24")
	})
}

// TestTwoClustersShareNoInterface: a network interface with the label of the other cluster keeps it, although its
// machine has none.
func TestTwoClustersShareNoInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.selector = true
		r.addMachine("a")
		r.addMachine("b")
		r.changeInterface("a", func(n *networkingv1alpha1.NetworkInterface) {
			n.Labels = map[string]string{label.Cluster: "green"}
		})
		excluded := node("a")
		excluded.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		c := r.start()
		r.label(c, fake.NewClientset(node("b"), excluded))
		nic, _ := r.server.NetworkInterface(interfaceOf("b"))
		want(r, "label of the own one", nic.Labels[label.Cluster], testCluster)
		c.labeler.queue.Add("a") // now there is another one with the label
		synctest.Wait()
		nic, _ = r.server.NetworkInterface(interfaceOf("a"))
		want(r, "label of the other one", nic.Labels[label.Cluster], "green")
	})
}
