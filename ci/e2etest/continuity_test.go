//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// selectManager selects the pods of the cloud controller manager.
const selectManager = "k8s-app=cloud-controller-manager"

// clients is how many ask at the same time, pace how long each waits between two requests.
const (
	clients = 4
	pace    = 10 * time.Millisecond
)

// load asks all the time.
type load struct {
	say     func(string)
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	served int
	failed []failure
	// slowest is how long the slowest request took that was served.
	slowest time.Duration
}

// failure is a request that was not served.
type failure struct {
	began, ended time.Time
	// from is where its connection came from; invalid where there was none.
	from netip.AddrPort
	err  error
}

// cuts are the connections that load balancers have ended because their targets were taken away: when, by client.
type cuts struct {
	mu   sync.Mutex
	last map[netip.AddrPort]time.Time
}

func (c *cuts) add(client netip.AddrPort) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[netip.AddrPort]time.Time{}
	}
	c.last[client] = time.Now()
}

// explain reports whether a request failed because its target was taken away. A port is used again later.
func (c *cuts) explain(f failure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	during := func(at time.Time) bool { return at.After(f.began) && at.Before(f.ended) }
	if !f.from.IsValid() && errors.Is(f.err, syscall.ECONNRESET) {
		// It was ended before connect returned, which then does not say where the connection came from.
		return slices.ContainsFunc(slices.Collect(maps.Values(c.last)), during)
	}
	at, found := c.last[f.from]
	return found && during(at)
}

// underLoad asks an address all the time, each request on a connection of its own, until finish.
func (l *lab) underLoad(t *testing.T, address netip.Addr) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &load{say: l.report.say, stop: stop}
	t.Cleanup(func() {
		stop()
		d.running.Wait()
	})
	for range clients {
		d.running.Go(func() {
			for ctx.Err() == nil {
				// Not ctx: a request that was begun is not one that failed.
				began := time.Now()
				_, from, err := l.askFrom(context.WithoutCancel(ctx), address, loadLimit)
				d.count(failure{began, time.Now(), from, err})
				<-time.After(pace)
			}
		})
	}
	return d
}

// count counts a request, which has failed if it has an error.
func (d *load) count(f failure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.err != nil {
		d.failed = append(d.failed, f)
		return
	}
	d.served++
	d.slowest = max(d.slowest, f.ended.Sub(f.began))
}

// finish ends the load, and fails unless every request was served, but for those whose failure is explained.
func (d *load) finish(t *testing.T, explain ...func(failure) bool) {
	t.Helper()
	d.stop()
	d.running.Wait()
	if d.served < clients {
		t.Errorf("%d requests were served, which proves nothing", d.served)
	}
	all := len(d.failed)
	d.failed = slices.DeleteFunc(d.failed, func(f failure) bool {
		return slices.ContainsFunc(explain, func(explains func(failure) bool) bool { return explains(f) })
	})
	for _, f := range d.failed[:min(5, len(d.failed))] {
		t.Errorf("the request of %s from %s to %s: %v", f.from, f.began.Format(time.StampMilli),
			f.ended.Format(time.StampMilli), f.err)
	}
	d.say(fmt.Sprintf("         %d requests were served, the slowest in %s; %d ended with their target, %d failed",
		d.served, d.slowest.Round(time.Millisecond), all-len(d.failed), len(d.failed)))
}

// serves wants that requests go on being served.
func (d *load) serves(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := d.more(ctx, clients); err != nil {
		t.Fatal(err)
	}
}

// more waits until so many more requests have been served.
func (d *load) more(ctx context.Context, n int) error {
	count := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.served
	}
	for before := count(); count() < before+n; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d more requests that are served: %w", n, context.Cause(ctx))
		case <-time.After(pace):
		}
	}
	return nil
}

// webUnderLoad runs servers on both workers, behind a load balancer that is under load.
func (l *lab) webUnderLoad(t *testing.T) (namespace string, address netip.Addr, d *load) {
	t.Helper()
	namespace = l.runServers(t, "worker-1", "worker-2")
	address = l.expose(t, namespace, portHTTP)
	l.awaitWeb(t, address, "worker-1", "worker-2")
	return namespace, address, l.underLoad(t, address)
}

// managerReplaced proves that traffic is not affected when the pod of the cloud controller manager is deleted at once,
// and logs how soon another one works. It has work to do meanwhile: a node is excluded, and a Deployment is replaced.
func managerReplaced(t *testing.T, l *lab) {
	t.Helper()
	namespace, address, d := l.deploymentUnderLoad(t)
	c := l.counts(t, namespace, "worker-2")
	c.busy(t, d)
	old := l.manager(t)
	began := time.Now()
	if err := l.API().CoreV1().Pods(cluster.Namespace).Delete(t.Context(), old.Name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, new("true"))
	t.Cleanup(func() { l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, nil) }) // if it was not reached below
	l.rollOut(t, namespace)
	another := l.expose(t, namespace, portHTTP, named("another"))
	l.report.measured(began, "the old one was deleted, the next one had made a load balancer")
	l.leadsTo(t, address, "worker-1")
	c.silent(t, d)
	l.label(t, "worker-2", corev1.LabelNodeExcludeBalancers, nil)
	l.leadsTo(t, address, "worker-1", "worker-2")
	c.busy(t, d)
	l.deployed(t, namespace)
	l.serves(t, another)
	d.finish(t, l.cuts.explain)
}

func named(name string) func(*corev1.Service) { return func(s *corev1.Service) { s.Name = name } }

// rolledOut proves that a Deployment behind a load balancer is replaced without a request that fails.
func rolledOut(t *testing.T, l *lab) {
	t.Helper()
	namespace, _, d := l.deploymentUnderLoad(t)
	d.serves(t)
	l.rollOut(t, namespace)
	l.deployed(t, namespace)
	d.serves(t)
	d.finish(t)
}

// rollOuts is how often a Deployment is replaced to prove that no request fails.
const rollOuts = 10

// rolledOutLocally proves that with the policy Local no request fails while the only server moves to the other node,
// again and again: the node before is a target until its server ends. The server has the hook of the guide, so that it
// stays ready until then. One that fails its readiness probe as soon as it is asked to end loses its node while the
// load balancer still sends connections there.
func rolledOutLocally(t *testing.T, l *lab) {
	t.Helper()
	server := servers()
	server.Spec.Replicas = ptr.To[int32](1)
	server.Spec.Template.Spec.Containers[0].Args = []string{"serve"}
	server.Spec.Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
		Sleep: &corev1.SleepAction{Seconds: int64(drain.Seconds())}}}
	server.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: server.Spec.Selector, TopologyKey: corev1.LabelHostname,
		}},
	}}
	namespace := l.namespace(t)
	l.deploy(t, namespace, server)
	address := l.expose(t, namespace, portHTTP, func(s *corev1.Service) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	l.serves(t, address)
	d := l.underLoad(t, address)
	for range rollOuts {
		d.serves(t)
		l.rollOut(t, namespace)
		l.deployed(t, namespace)
	}
	d.serves(t)
	d.finish(t)
}

// deploy creates a Deployment, and waits until it is as it should be.
func (l *lab) deploy(t *testing.T, namespace string, deployment *appsv1.Deployment) {
	t.Helper()
	if _, err := l.API().AppsV1().Deployments(namespace).Create(t.Context(), deployment,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.deployed(t, namespace)
}

// deploymentUnderLoad runs a Deployment behind a load balancer that is under load.
func (l *lab) deploymentUnderLoad(t *testing.T) (namespace string, address netip.Addr, d *load) {
	t.Helper()
	namespace = l.namespace(t)
	l.deploy(t, namespace, servers())
	address = l.expose(t, namespace, portHTTP)
	l.leadsTo(t, address, "worker-1", "worker-2")
	l.serves(t, address)
	return namespace, address, l.underLoad(t, address)
}

// serves waits until a server answers at an address.
func (l *lab) serves(t *testing.T, address netip.Addr) {
	t.Helper()
	eventually(t, "the load balancer serves", func(ctx context.Context) error {
		_, err := l.ask(ctx, address)
		return err
	})
}

// rollOut begins to replace the pods of the Deployment.
func (l *lab) rollOut(t *testing.T, namespace string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"again":%q}}}}}`,
		time.Now().Format(time.RFC3339Nano))
	deployments := l.API().AppsV1().Deployments(namespace)
	if _, err := deployments.Patch(t.Context(), "servers", types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// drain is how long a server goes on serving after it was asked to end: until every node has removed it from its
// endpoints, also on a machine that is busy.
const drain = 25 * time.Second

// servers is a Deployment of two servers that go on serving until no node sends connections to them any more.
func servers() *appsv1.Deployment {
	labels := map[string]string{"app": "server"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "servers"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64((2 * drain).Seconds())),
				Containers: []corev1.Container{{
					Name: "server", Image: cluster.GuestImage, ImagePullPolicy: corev1.PullNever,
					Args: []string{"serve", "--drain=" + drain.String()},
					ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(portHTTP)},
					}},
				}},
			}},
		},
	}
}

// deployed waits until the Deployment is what it should be, and the pods of before are gone.
func (l *lab) deployed(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the Deployment is as it should be", func(ctx context.Context) error {
		d, err := l.API().AppsV1().Deployments(namespace).Get(ctx, "servers", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := l.API().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		s, want := d.Status, *d.Spec.Replicas
		if s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want ||
			s.Replicas != want || len(pods.Items) != int(want) {
			return fmt.Errorf("%d pods, status %+v", len(pods.Items), s)
		}
		return nil
	})
}

// outage is how long the cloud's API is away.
const outage = 40 * time.Second

// afterOutage is the longest time from the end of an outage of the cloud until a Service that was created in it has its
// load balancer.
const afterOutage = 10 * time.Second

// beginning is longer than the time for which the program relies on the latest answer of the cloud.
const beginning = 2 * time.Second

// cloudAway proves that traffic flows and nothing is deleted while the cloud's API is away, and that everything
// converges afterwards.
func cloudAway(t *testing.T, l *lab) {
	t.Helper()
	namespace, address, d := l.webUnderLoad(t)
	// What an earlier proof has deleted would otherwise be deleted after the outage. Target groups are deleted last.
	eventually(t, "only this load balancer and its target groups are left", func(context.Context) error {
		state := l.Cloud().State()
		if n := len(state.LoadBalancers); n != 1 {
			return fmt.Errorf("there are %d load balancers", n)
		}
		if n, want := len(state.TargetGroups), len(state.LoadBalancers[0].Listeners); n != want {
			return fmt.Errorf("there are %d target groups, and %d listeners", n, want)
		}
		return nil
	})
	nodes := l.unharmed(t)
	before := time.Now()
	id, err := l.Cloud().Inject(fault.Rule{Effect: fault.Effect{Kind: fault.Refuse,
		Status: http.StatusServiceUnavailable}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Cloud().ClearFaults(id) })
	// A creation that is sent just as the outage begins may have happened, so that it is not repeated for a minute.
	<-time.After(beginning)
	wanted := l.createService(t, namespace, portHTTP, named("wanted"))
	<-time.After(outage)
	for _, write := range l.writesSince(before) {
		if write.Identity != "" {
			t.Errorf("%s %s came through, which is no outage", write.Operation, write.Identity)
		}
	}
	if diff := cmp.Diff(nodes, l.unharmed(t)); diff != "" {
		t.Errorf("in the outage the nodes became others, -before +after:\n%s", diff)
	}
	l.Cloud().ClearFaults(id)
	over := time.Now()
	another := l.addressOf(t, namespace, wanted)
	if took := time.Since(over); took > afterOutage {
		t.Errorf("it has its load balancer %s after the outage, want %s at most", took.Round(time.Second/10),
			afterOutage)
	}
	l.report.measured(over, "the outage, a Service that was made during it had its load balancer")
	l.awaitWeb(t, another, "worker-1", "worker-2")
	l.awaitWeb(t, address, "worker-1", "worker-2")
	d.finish(t)
	// A wrong conclusion from an outage may lead to deletions when it is over.
	for _, write := range l.writesSince(before) {
		if strings.HasPrefix(write.Operation, http.MethodDelete+" ") {
			t.Errorf("%s %s was called, and nothing was to be deleted", write.Operation, write.Path)
		}
	}
	if diff := cmp.Diff(nodes, l.unharmed(t)); diff != "" {
		t.Errorf("after the outage the nodes became others, -before +after:\n%s", diff)
	}
}

// writesSince are the requests of the cloud's log that changed something, or meant to, from a moment on.
func (l *lab) writesSince(moment time.Time) []emulator.Write {
	return slices.DeleteFunc(l.Cloud().Writes(), func(w emulator.Write) bool { return w.Time.Before(moment) })
}

// unharmed wants all nodes to be ready, without a taint but that which the control plane was given, and with their
// routes. It returns the identities of the Nodes by name.
func (l *lab) unharmed(t *testing.T) map[string]types.UID {
	t.Helper()
	nodes, err := l.API().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Errorf("%d nodes and %v, want all 3", len(nodes.Items), err)
	}
	identities := map[string]types.UID{}
	for _, node := range nodes.Items {
		identities[node.Name] = node.UID
		var taints, want []string
		for _, taint := range node.Spec.Taints {
			taints = append(taints, taint.Key)
		}
		if node.Name == cluster.ControlPlane {
			want = []string{labelControlPlane}
		}
		if !isReady(&node) || !slices.Equal(taints, want) {
			t.Errorf("node %s has changed: ready %t, taints %v, want %v", node.Name, isReady(&node), taints, want)
		}
	}
	l.wantRoutes(t, cluster.ControlPlane, "worker-1", "worker-2")
	return identities
}
