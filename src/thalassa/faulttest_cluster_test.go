package thalassa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

const (
	// quietTime is how long nothing happens when all is done: longer than the longest pause after a failure.
	quietTime = lastPause + 30*time.Second
	// stepPause is what the people of a cluster wait between two things they do.
	stepPause = 20 * time.Second
	// rarely and often are periods of looking for drift. The first lets most stories end undisturbed by it; neither is
	// a multiple of pauses, so that no two things ever happen in one moment.
	rarely = 1207 * time.Second
	often  = 307 * time.Second
)

// testCluster is the Kubernetes side of a story: it exists longer than processes, and its steps are what users do.
type testCluster struct {
	*lab
	cluster *cluster.Cluster
	steps   []step
	begun   int // steps
	// pauses before each step, which does not wait for the effect of those before then; nil for one after the other.
	pauses []time.Duration
	calls  atomic.Int64
	leaked atomic.Bool // something was made of a Service without finalizer
	// apiFaults of the API server at the first writes of all processes, which all come from the one worker.
	apiFaults []apiFault
	// driftChecked says that it is the look for drift that does the work, and met when that is done.
	driftChecked bool
	met          func() error
	recorder     *record.FakeRecorder
	// uncertain says that something may have been made twice: a process ended before a write of it arrived, or the
	// answer to a creation was lost, and lists may be old as well; or that a list was old, which may hide a difference.
	// A look for drift repairs both.
	uncertain atomic.Bool
	// lag is by how much the caches of processes are behind.
	lag time.Duration
	// duplicates are load balancers with our labels that are not in our project.
	duplicates map[string]bool
}

// step is something that somebody does in the cluster. An error is that it is not possible yet.
type step func(*cluster.Cluster) error

// testCluster is a cluster with nodes, and the Service as the service controller keeps it, unless it is nil.
func (l *lab) testCluster(web *corev1.Service, nodes []*corev1.Node, steps ...step) *testCluster {
	l.Helper()
	t := &testCluster{lab: l, cluster: cluster.New(), steps: steps, duplicates: l.duplicates(),
		recorder: &record.FakeRecorder{}}
	for _, node := range nodes {
		t.put(node)
	}
	if web != nil {
		web = web.DeepCopy()
		web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		t.put(web)
	}
	return t
}

// duplicates are the load balancers outside of our project, if we are in one.
func (l *lab) duplicates() map[string]bool {
	l.Helper()
	if l.config.Project == "" {
		return nil
	}
	outside, err := labIn(l.TB, l.emulator).api().ListLoadbalancers(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	duplicates := map[string]bool{}
	for _, balancer := range outside {
		duplicates[balancer.Identity] = true
	}
	return duplicates
}

func (t *testCluster) put(object cluster.Object) {
	t.Helper()
	if err := t.cluster.Create(object); err != nil {
		t.Fatal(err)
	}
}

// kept is a process in a cluster with the Service, where people do something later.
func (l *lab) kept(web *corev1.Service, nodes []*corev1.Node, steps ...step) faulttest.Start {
	l.Helper()
	return l.testCluster(web, nodes, steps...).start
}

// start starts a process of the cluster: the real service controller with one worker, so that calls have one order.
func (t *testCluster) start(network http.RoundTripper) faulttest.Work {
	anew := *t.lab
	anew.network = &meter{network, t}
	anew.restart()
	var ended chan struct{}
	return func(ctx context.Context) error {
		if ended != nil { // another time, with one look for drift
			return errors.Join(faulttest.Wait(ctx, rarely), t.rest(ctx))
		}
		ended = make(chan struct{})
		if err := t.control(ctx, &anew, ended); err != nil {
			return err
		}
		err := t.live(ctx)
		if ctx.Err() != nil {
			<-ended
		}
		return err
	}
}

// meter counts calls.
type meter struct {
	next    http.RoundTripper
	cluster *testCluster
}

func (m *meter) RoundTrip(request *http.Request) (*http.Response, error) {
	if !m.cluster.driftChecked || request.Method != http.MethodGet {
		m.cluster.calls.Add(1)
	}
	response, err := m.next.RoundTrip(request)
	if faulttest.Overtaken(err) || faulttest.Repeated(response) || request.Method == http.MethodPost &&
		!readable(response, err) {
		m.cluster.uncertain.Store(true)
	}
	if request.Method == http.MethodPost {
		m.cluster.inspect()
	}
	return response, err
}

// readable reports whether a creation was refused, or has an answer that says what was made. It reads the answer and
// puts it back.
func readable(response *http.Response, err error) bool {
	if err != nil {
		return false
	}
	if response.StatusCode >= http.StatusBadRequest || response.Request != nil &&
		strings.HasSuffix(response.Request.URL.Path, "/attachments") {
		return true
	}
	body, end := io.ReadAll(response.Body)
	rest := io.Reader(bytes.NewReader(body))
	if end != nil {
		rest = io.MultiReader(rest, iotest.ErrReader(end))
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{rest, response.Body}
	return end == nil && json.Valid(body) && len(body) > len("null")
}

// deletionAccepted reports whether the cloud has accepted the deletion of a target group, which it does later. A list
// that lacks the group meanwhile is right about it.
func (t *testCluster) deletionAccepted(group string) bool {
	return slices.ContainsFunc(t.emulator.Writes(), func(w emulator.Write) bool {
		return w.Identity == group && w.Operation == "DELETE /v1/loadbalancer-target-groups/{id}" &&
			w.Status < http.StatusMultipleChoices
	})
}

// inspect looks for what would leak if its Service were deleted now, because nothing keeps that.
func (t *testCluster) inspect() {
	if t.config.Project != "" { // there are doubles
		return
	}
	state := t.emulator.State()
	var labels []map[string]string
	for _, balancer := range state.LoadBalancers {
		if balancer.Status != "deleted" { // one that is gone is shown for a while
			labels = append(labels, balancer.Labels)
		}
	}
	for _, group := range state.TargetGroups {
		if !t.deletionAccepted(group.Identity) {
			labels = append(labels, group.Labels)
		}
	}
	for _, service := range t.cluster.Services() {
		if !helpers.HasLBFinalizer(service) && slices.ContainsFunc(labels, func(one map[string]string) bool {
			return one[label.Cluster] == t.config.Cluster && one[label.ServiceUID] == string(service.UID)
		}) {
			t.leaked.Store(true)
		}
	}
}

// processTransport is the way to the API server of a process that ends with ctx.
type processTransport struct {
	ctx     context.Context
	cluster *testCluster
}

func (m processTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := context.Cause(m.ctx); err != nil {
		return nil, err
	}
	apiFault := m.cluster.apiFault(request)
	if apiFault == refuses {
		return nil, errors.New("the API server is away")
	}
	response, err := m.cluster.cluster.Transport().RoundTrip(request)
	if err == nil && apiFault == losesAnswer {
		err = errors.Join(response.Body.Close(), errors.New("the API server's answer is lost"))
	}
	if err != nil {
		return nil, err
	}
	if m.cluster.lag > 0 && request.URL.Query().Get("watch") == "true" {
		response.Body = behind{response.Body, m}
	}
	return response, nil
}

// behind is a watch that reports changes late.
type behind struct {
	io.ReadCloser
	processTransport
}

func (l behind) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	return n, errors.Join(err, faulttest.Wait(l.ctx, l.cluster.lag))
}

// apiFault is how the API server takes a write.
type apiFault int

const (
	accepts apiFault = iota
	refuses
	losesAnswer // it does it, and nobody hears of it
)

// apiFault of the next write; the first ones may fail.
func (t *testCluster) apiFault(request *http.Request) apiFault {
	if request.Method != http.MethodPatch || len(t.apiFaults) == 0 {
		return accepts
	}
	next := t.apiFaults[0]
	t.apiFaults = t.apiFaults[1:]
	return next
}

// control runs the service controller until ctx ends.
func (t *testCluster) control(ctx context.Context, l *lab, ended chan<- struct{}) error {
	ctx = klog.NewContext(ctx, klog.Logger{}) // a run that fails shows its calls
	client, err := cluster.Client(processTransport{ctx, t})
	if err != nil {
		return err
	}
	behaviour := l.config.LoadBalancer.Behaviour()
	behaviour.DriftPeriod = rarely
	if t.driftChecked {
		behaviour.DriftPeriod = often
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := servicecontroller.New(servicecontroller.Options{
		Provider: l.cloud.balancers, Behaviour: behaviour, Client: client, Recorder: t.recorder,
		Services: factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
		EndpointSlices: factory.Discovery().V1().EndpointSlices(),
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	go func() {
		controller.Run(ctx, 1)
		factory.Shutdown()
		close(ended)
	}()
	return nil
}

// live runs the cluster until nothing happens any more.
func (t *testCluster) live(ctx context.Context) error {
	var missing error
	for t.begun < len(t.steps) {
		pause := stepPause
		if t.pauses != nil {
			pause = t.pauses[t.begun]
		}
		if err := faulttest.Wait(ctx, pause); err != nil {
			return errors.Join(err, missing, t.unmet())
		}
		if missing = t.unmet(); t.pauses != nil || missing == nil {
			missing = t.steps[t.begun](t.cluster)
		}
		if missing == nil {
			t.begun++
		}
	}
	return t.rest(ctx)
}

// rest waits until all is as it should be and nothing happens.
func (t *testCluster) rest(ctx context.Context) error {
	for {
		if t.leaked.Load() {
			return errors.New("something was made of a Service that had no finalizer")
		}
		calls, version := t.calls.Load(), t.cluster.Version()
		if err := faulttest.Wait(ctx, quietTime); err != nil {
			return errors.Join(err, t.unmet())
		}
		if calls == t.calls.Load() && version == t.cluster.Version() && t.unmet() == nil &&
			(t.met == nil || t.met() == nil) {
			return nil
		}
	}
}

// unmet says what is not as Services should be in Kubernetes.
func (t *testCluster) unmet() error {
	addresses := map[string][]string{} // of our load balancers, by UID of the Service
	for _, balancer := range t.emulator.State().LoadBalancers {
		if balancer.Labels[label.Cluster] == t.config.Cluster && !t.duplicates[balancer.Identity] {
			addresses[balancer.Labels[label.ServiceUID]] = append(addresses[balancer.Labels[label.ServiceUID]],
				balancer.Addresses...)
		}
	}
	for _, service := range t.cluster.Services() {
		if err := outOfSync(service, addresses[string(service.UID)]); err != nil {
			return fmt.Errorf("Service %s: %w", service.Name, err)
		}
	}
	return nil
}

// outOfSync says what is wrong with a Service that has those addresses in the cloud.
func outOfSync(service *corev1.Service, has []string) error {
	var shown []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		shown = append(shown, ingress.IP)
	}
	balanced := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch kept := helpers.HasLBFinalizer(service); {
	case service.DeletionTimestamp != nil:
		return errors.New("it is still there")
	case balanced && ofOthers(service):
		return nil
	case balanced != kept:
		return fmt.Errorf("it has the finalizer: %t", kept)
	case !slices.Equal(shown, has):
		return fmt.Errorf("it shows the addresses %q, the cloud has %q", shown, has)
	case balanced && len(shown) == 0:
		return errors.New("it has no address")
	case balanced && !meta.IsStatusConditionTrue(service.Status.Conditions, "LoadBalancerSynced"):
		return fmt.Errorf("its conditions are %v", service.Status.Conditions)
	case !balanced && len(service.Status.Conditions) > 0:
		return fmt.Errorf("it still has conditions: %v", service.Status.Conditions)
	}
	return nil
}

// ourClass is the loadBalancerClass that lives serve besides none.
const ourClass = "example.com/ours"

// ofOthers reports whether a Service has a class that is not ours.
func ofOthers(service *corev1.Service) bool {
	return service.Spec.LoadBalancerClass != nil && *service.Spec.LoadBalancerClass != ourClass
}

// edits is somebody who changes the Service.
func edits(change func(web *corev1.Service)) step {
	return func(c *cluster.Cluster) error {
		return c.Change(service("web"), func(object cluster.Object) {
			if web, ok := object.(*corev1.Service); ok {
				change(web)
			}
		})
	}
}

// creates is somebody who makes an object.
func creates(object cluster.Object) step {
	return func(c *cluster.Cluster) error { return c.Create(object) }
}

// deletes is somebody who deletes an object.
func deletes(object cluster.Object) step {
	return func(c *cluster.Cluster) error { return c.Delete(object) }
}

// endpointsOf is a slice that says on which nodes the Service has endpoints that are ready.
func endpointsOf(web *corev1.Service, nodes ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: web.Namespace, Name: web.Name + "-x",
		Labels: map[string]string{discoveryv1.LabelServiceName: web.Name},
	}}
	for _, node := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{NodeName: &node,
			Addresses: []string{"10.0.0.1"}})
	}
	return slice
}

// ensuring is a process that finds the Service in the cluster when it starts.
func (l *lab) ensuring(web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
	l.Helper()
	return l.kept(web, nodes)
}

// deleting is a process that finds, when it starts, that the Service is to be deleted.
func (l *lab) deleting(web *corev1.Service) faulttest.Start {
	l.Helper()
	t := l.testCluster(web, nil)
	if err := t.cluster.Delete(web); err != nil {
		l.Fatal(err)
	}
	return t.start
}
