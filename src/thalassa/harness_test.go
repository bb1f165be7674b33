package thalassa

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/thalassa-cloud/client-go/iaas"
	official "github.com/thalassa-cloud/client-go/pkg/client"
	thalassacloud "github.com/thalassa-cloud/client-go/thalassa"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// lab is a cloud provider in front of an emulated cloud.
type lab struct {
	testing.TB
	emulator *emulator.Emulator
	network  http.RoundTripper
	config   cloudconfig.Config
	// credentials are the default client's.
	credentials secret.Credentials
	cloud       *Cloud
	library     *conformance.Library
	events      *record.FakeRecorder
	// allNodes are all nodes of the cluster.
	allNodes []*corev1.Node
}

// newLab starts an emulator with the given configuration; a missing seed is the default one. Calls are in process.
func newLab(tb testing.TB, c emulator.Config) *lab {
	tb.Helper()
	if len(c.Seed.Organisations) == 0 {
		c.Seed = emulator.DefaultSeed()
	}
	c.Middleware = openapitest.Sampled(tb)
	emulated, err := emulator.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := emulated.Close(); err != nil {
			tb.Error(err)
		}
	})
	return labIn(tb, emulated)
}

// labIn is a cloud provider in front of a cloud that there is already.
func labIn(tb testing.TB, emulated *emulator.Emulator) *lab {
	tb.Helper()
	l := &lab{TB: tb, emulator: emulated, network: emulated.Transport(), config: cloudconfig.Default()}
	l.credentials = secret.Credentials{ClientID: emulator.DefaultClientID, ClientSecret: emulator.DefaultClientSecret}
	l.config.Organisation = emulator.DefaultOrganisationSlug
	l.config.VPCIdentity = emulator.DefaultVPC
	l.config.Cluster = "k8s-test"
	l.config.Endpoint = "http://cloud.test"
	l.restart()
	return l
}

// overHTTP makes the lab's calls go through a real server and connection.
func (l *lab) overHTTP() *lab {
	server := httptest.NewServer(l.emulator)
	l.Cleanup(server.Close)
	l.config.Endpoint, l.network = server.URL, nil
	l.restart()
	return l
}

// restart makes a new provider that knows nothing of the old one.
func (l *lab) restart() {
	l.Helper()
	cloud, err := build(l.config, secret.Secrets{Credentials: l.credentials}, "test", l.network)
	if err != nil {
		l.Fatal(err)
	}
	l.cloud, l.events = cloud, record.NewFakeRecorder(100)
	l.library = conformance.NewLibrary(cloud.balancers, l.config.LoadBalancer.Behaviour(), l.events)
}

// nodes adds machines to the cloud and returns the nodes that run on them, initialised.
func (l *lab) nodes(names ...string) []*corev1.Node {
	l.Helper()
	var nodes []*corev1.Node
	for _, name := range names {
		id, err := l.emulator.AddMachine(emulator.MachineSpec{Name: name})
		if err != nil {
			l.Fatal(err)
		}
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.NodeSpec{ProviderID: providerid.Of(id)}})
	}
	l.allNodes = append(l.allNodes, nodes...)
	return nodes
}

// service returns a Service of type LoadBalancer with TCP ports; node ports are 30000 above.
func service(name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("0a1b2c3d-" + name),
			Annotations: map[string]string{label.AnnotationPrefix + "type": "public"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("p%d", port), Protocol: corev1.ProtocolTCP, Port: port, NodePort: 30000 + port,
			TargetPort: intstr.FromInt32(8080),
		})
	}
	return s
}

// named is a Node with a name and a provider ID.
func named(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

// seconds is a duration of the configuration.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// ensure is one sync, as the service controller makes it.
func (l *lab) ensure(s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return l.library.EnsureLoadBalancer(l.Context(), "test", s, nodes)
}

// settle syncs until the load balancer is ready, waiting as the service controller would; for virtual time.
func (l *lab) settle(s *corev1.Service, nodes []*corev1.Node) *corev1.LoadBalancerStatus {
	l.Helper()
	var status *corev1.LoadBalancerStatus
	l.retry(func() (err error) {
		status, err = l.ensure(s, nodes)
		return err
	})
	return status
}

// remove deletes until nothing is left; for virtual time.
func (l *lab) remove(s *corev1.Service) {
	l.Helper()
	l.retry(func() error { return l.library.EnsureLoadBalancerDeleted(l.Context(), "test", s) })
	if _, exists, err := l.library.GetLoadBalancer(l.Context(), "test", s); exists || err != nil {
		l.Fatalf("after the deletion GetLoadBalancer says exists %v, error %v", exists, err)
	}
}

// retry calls do again after the time it asks for, at most a hundred times.
func (l *lab) retry(do func() error) {
	l.Helper()
	var err error
	for range 100 {
		if err = do(); cloud.ReasonOf(err).Until == 0 {
			break
		}
		<-time.After(cloud.ReasonOf(err).Until)
	}
	if err != nil {
		l.Fatal(err)
	}
}

// writes are the operations of all writes since the counters were reset, without the tokens.
func (l *lab) writes() []string {
	var operations []string
	for _, write := range l.emulator.Writes() {
		operations = append(operations, write.Operation)
	}
	return operations
}

// calls is how many calls were made since the counters were reset, tokens included.
func (l *lab) calls() int {
	total := 0
	for _, count := range l.emulator.Counters() {
		total += count
	}
	return total
}

// within fails the test when a figure is not within its budget.
func (l *lab) within(name string, figure float64) {
	l.Helper()
	b, err := budget.Named(name)
	if err != nil {
		l.Fatal(err)
	}
	l.Logf("%s: %s %s", name, budget.Format(figure), b.Unit)
	if !b.Kept(figure) {
		l.Errorf("%s (%s): %s %s, at most %s; calls %v", b.Name, b.Work, budget.Format(figure), b.Unit,
			budget.Format(b.Limit), l.emulator.Counters())
	}
}

// api is the official client, for looking at the cloud without the provider.
func (l *lab) api() *iaas.Client {
	l.Helper()
	// The official client has no option for a transport; only a middleware ever sees its HTTP client.
	var once sync.Once
	direct := func(http *resty.Client, _ *resty.Request) error {
		once.Do(func() { http.SetTransport(l.emulator.Transport()) })
		return nil
	}
	c, err := thalassacloud.NewClient(official.WithBaseURL("http://cloud.test"),
		official.WithOrganisation(l.config.Organisation), official.WithProject(l.config.Project),
		official.WithAuthPersonalToken(emulator.DefaultToken), official.WithMiddleware(direct))
	if err != nil {
		l.Fatal(err)
	}
	return c.IaaS()
}

// leftovers are the load balancers and target groups in the cloud, by name.
func (l *lab) leftovers() []string {
	l.Helper()
	balancers, err := l.api().ListLoadbalancers(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	var names []string
	for _, balancer := range balancers {
		names = append(names, "load balancer "+balancer.Name)
	}
	for _, group := range groups {
		names = append(names, "target group "+group.Name)
	}
	return names
}

// nextEvent returns the oldest warning not yet looked at, "" if there is none.
func (l *lab) nextEvent() string {
	for {
		select {
		case event := <-l.events.Events:
			if strings.HasPrefix(event, corev1.EventTypeWarning) {
				return event
			}
		default:
			return ""
		}
	}
}

// failing lets a number of writes pass and then fails every call; the write it fails on may or may not have happened.
type failing struct {
	next     http.RoundTripper
	writes   int
	happened bool
	mu       sync.Mutex // of writes, once it is in use
}

func (f *failing) RoundTrip(request *http.Request) (*http.Response, error) {
	write := request.Method != http.MethodGet && !strings.HasSuffix(request.URL.Path, "/oidc/token")
	f.mu.Lock()
	dead := f.writes < 0
	if write && !dead {
		f.writes--
	}
	dies := f.writes < 0
	f.mu.Unlock()
	switch {
	case dead:
		return nil, errors.New("the process is dead")
	case !dies:
		return f.next.RoundTrip(request)
	}
	if f.happened {
		if response, err := f.next.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}
	return nil, errors.New("the process died")
}
