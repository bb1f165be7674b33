package ironcore

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
)

// rig is IronCore for tests without controllers, in a synctest bubble.
type rig struct {
	*testing.T
	*userView
	ctx context.Context // of everything that runs
}

// inBubble runs a test with an IronCore without machines, and ends what it has started.
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); synctest.Wait() }()
		test(&rig{T: t, userView: newUserView(t, false), ctx: ctx})
	})
}

// start returns the cloud as a process has it that has just started and listed all objects.
func (r *rig) start() *Cloud {
	r.Helper()
	return r.startWith(testConfig())
}

func (r *rig) startWith(config cloudconfig.Config) *Cloud {
	r.Helper()
	c := connect(r.T, r.server, config, r.selector)
	context.AfterFunc(r.ctx, c.labeler.queue.ShutDown) // not every test runs the labeler
	c.store.Start(r.ctx)
	if err := c.store.WaitForSync(r.ctx); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return c
}

// label runs the labeler of a cloud with the Nodes of a cluster.
func (r *rig) label(c *Cloud, cluster kubernetes.Interface) {
	r.Helper()
	factory := informers.NewSharedInformerFactory(cluster, 0)
	c.labeler.setInformers(factory)
	factory.StartWithContext(r.ctx)
	if !cache.WaitForCacheSync(r.ctx.Done(), c.labeler.informer.HasSynced) {
		r.Fatal("the Nodes were not listed")
	}
	go c.labeler.run(r.ctx)
	synctest.Wait()
}

// diff compares a Service whose targets are the Nodes with these names.
func (r *rig) diff(c *Cloud, service *corev1.Service, nodes ...string) cloud.Comparison {
	r.Helper()
	found, err := c.balancers.Diff(r.ctx, service, targets(c, nodes...), false)
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// reconcile compares and writes until nothing differs.
func (r *rig) reconcile(c *Cloud, service *corev1.Service, nodes ...string) cloud.Comparison {
	r.Helper()
	for range 5 {
		found := r.diff(c, service, nodes...)
		if found.Refused != nil {
			r.Fatal(found.Refused)
		}
		if len(found.Plan) == 0 {
			return found
		}
		r.apply(c, service, found.Plan)
	}
	r.Fatal("the plans do not become empty")
	return cloud.Comparison{}
}

func (r *rig) apply(c *Cloud, service *corev1.Service, plan cloud.Plan) {
	r.Helper()
	if _, err := c.balancers.Apply(r.ctx, service, plan); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// destinations returns the addresses that a load balancer sends traffic to.
func (r *rig) destinations(name string) string {
	routing, exists := r.server.LoadBalancerRouting(name)
	if !exists {
		return "no routing"
	}
	addresses := make([]string, len(routing.Destinations))
	for i, one := range routing.Destinations {
		addresses[i] = one.IP.String()
	}
	return strings.Join(addresses, " ")
}

// serviceUID and serviceName are the UID of the Service and the name of its load balancer.
const (
	serviceUID  = types.UID("0a1b2c3d-1111-2222-3333-444444444444")
	serviceName = "0a1b2c3d111122223333444444444444"
)

func service(changes ...func(*corev1.Service)) *corev1.Service {
	one := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: serviceUID},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	for _, change := range changes {
		change(one)
	}
	return one
}

// node returns the Node of a machine.
func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{ProviderID: providerid.Of(testNamespace, name)}}
}

func targets(c *Cloud, names ...string) cloud.Targets {
	nodes := make([]*corev1.Node, len(names))
	for i, name := range names {
		nodes[i] = node(name)
	}
	return cloud.ChooseTargets(nodes, c.balancers.Identify)
}

// pass lets time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func want[T comparable](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if got != wanted {
		tb.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// wantText checks that a text or an error contains parts of what it should say.
func wantText(tb testing.TB, what, text string, parts ...string) {
	tb.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			tb.Errorf("%s: want %q in %q", what, part, text)
		}
	}
}

// firstAddress returns the first address of a load balancer; "" if there is none.
func firstAddress(status corev1.LoadBalancerStatus) string {
	if len(status.Ingress) == 0 {
		return ""
	}
	return status.Ingress[0].IP
}

// wantError checks that there is an error, and that it contains parts of what it should say.
func wantError(tb testing.TB, what string, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("%s: there is none", what)
		return
	}
	wantText(tb, what, err.Error(), parts...)
}

// planDelete returns what deletes the load balancer of a Service.
func (r *rig) planDelete(c *Cloud, service *corev1.Service, written bool) cloud.Comparison {
	r.Helper()
	found, err := c.balancers.PlanDelete(r.ctx, service, written)
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// balancer returns the load balancer of the Service.
func (r *rig) balancer() *networkingv1alpha1.LoadBalancer {
	r.Helper()
	one, exists := r.server.LoadBalancer(serviceName)
	if !exists {
		r.Fatalf("there is no load balancer %s", serviceName)
	}
	return one
}

// internalService sets the annotation for internal load balancers.
func internalService(value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations = map[string]string{label.Internal: value} }
}

func families(all ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.IPFamilies = all }
}

// serviceOf parses "namespace/name".
func serviceOf(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (r *rig) changeInterface(machine string, change func(*networkingv1alpha1.NetworkInterface)) {
	r.Helper()
	if !r.server.ChangeNetworkInterface(interfaceOf(machine), change) {
		r.Fatalf("there is no network interface of %s", machine)
	}
	synctest.Wait()
}

func (r *rig) changeNode(cluster *fake.Clientset, name string, change func(*corev1.Node)) {
	r.Helper()
	one, err := cluster.CoreV1().Nodes().Get(r.ctx, name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(one)
	if _, err := cluster.CoreV1().Nodes().Update(r.ctx, one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}
