package traces

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/collector"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// podCIDR is the network of the pods of the Node.
const podCIDR = "10.244.7.0/24"

// waitLimit bounds every wait.
const waitLimit = time.Minute

// Parts of a trace.
const (
	root  = "service-lb-controller"
	apply = root + " > apply > write > "
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// rig is a program between a cluster, a cloud and a collector.
type rig struct {
	*testing.T
	*collector.Collector
	plane     *controlplane.ControlPlane
	cluster   kubernetes.Interface
	namespace string // of Services
	folder    string
	listen    string // the program's host:port
}

func newRig(t *testing.T, plane *controlplane.ControlPlane) *rig {
	t.Helper()
	return &rig{T: t, Collector: collector.Start(t), plane: plane, cluster: controlplanetest.Client(t, plane),
		namespace: controlplanetest.NamespaceIn(t, plane), folder: t.TempDir(), listen: host.FreeAddress(t)}
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// start runs the program. It returns once the program is stopped, and all is sent.
func (r *rig) start(config string, flags ...string) (stop func()) {
	r.Helper()
	file := r.write("cloud-config", config)
	kubeconfig := r.plane.Kubeconfig()
	address, port, err := net.SplitHostPort(r.listen)
	r.must(err)
	running, err := process.Start(r.Context(), process.Spec{Name: "the program", Path: host.Program(r),
		Args: slices.Concat([]string{"--cloud-config=" + file, "--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--authorization-always-allow-paths=/metrics", "--bind-address=" + address, "--secure-port=" + port,
			"--leader-elect=false", "--cluster-cidr=10.244.0.0/16", "--cluster-name=traced",
			"--tracing-endpoint=" + r.Endpoint}, flags),
		Env: []string{"HOME=" + r.folder}, LogPath: r.path("log"),
	})
	r.must(err)
	r.Cleanup(func() {
		if r.Failed() {
			r.Logf("the end of the program's log:\n%s", running.Tail())
		}
	})
	return func() { r.must(running.Stop(waitLimit)) }
}

func (r *rig) path(name string) string { return filepath.Join(r.folder, name) }

func (r *rig) write(name, text string) (path string) {
	r.Helper()
	r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
	return r.path(name)
}

// addNode creates a Node as a kubelet of a cluster with a cloud does.
func (r *rig) addNode(name string) {
	r.Helper()
	_, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}, Taints: []corev1.Taint{{
			Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}}}, metav1.CreateOptions{})
	r.must(err)
	r.Cleanup(func() {
		_ = r.cluster.CoreV1().Nodes().Delete(context.WithoutCancel(r.Context()), name, metav1.DeleteOptions{})
	})
}

// routed returns once the pods of a Node are reached by a route.
func (r *rig) routed(name string) {
	r.Helper()
	controlplanetest.Eventually(r, waitLimit, "Node "+name+" has a route", func(ctx context.Context) error {
		node, err := r.cluster.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse
		}) {
			return errors.New("it has none")
		}
		return err
	})
}

// serve creates a Service, and returns once it has an address.
func (r *rig) serve(name string) {
	r.Helper()
	services := r.cluster.CoreV1().Services(r.namespace)
	_, err := services.Create(r.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}}}, metav1.CreateOptions{})
	r.must(err)
	controlplanetest.Eventually(r, waitLimit, "Service "+name+" has an address", func(ctx context.Context) error {
		service, err := services.Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("it has none")
		}
		return err
	})
}

// remove deletes Services, and returns once their load balancers are deleted.
func (r *rig) remove(names ...string) {
	r.Helper()
	services := r.cluster.CoreV1().Services(r.namespace)
	for _, name := range names {
		r.must(services.Delete(r.Context(), name, metav1.DeleteOptions{}))
		controlplanetest.Eventually(r, waitLimit, "Service "+name+" is deleted", func(ctx context.Context) error {
			_, err := services.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it exists"), err)
		})
	}
}

// traces returns the spans of a Service's traces that began at the root, by the ID of the trace.
func (r *rig) traces(service string) map[string][]collector.Span {
	ids, spans := map[string]bool{}, r.Spans()
	for _, span := range spans {
		if key, known := span.Attributes().Get("key"); known && key.Str() == r.namespace+"/"+service {
			ids[span.TraceID().String()] = true
		}
	}
	traces := map[string][]collector.Span{}
	for _, span := range spans {
		if id := span.TraceID().String(); ids[id] {
			traces[id] = append(traces[id], span)
		}
	}
	return traces
}

// find returns the first span with a path, such as "service-lb-controller > diff".
func find(spans []collector.Span, path string) (collector.Span, bool) {
	at := slices.IndexFunc(spans, func(span collector.Span) bool { return pathOf(span) == path })
	if at < 0 {
		return collector.Span{}, false
	}
	return spans[at], true
}

func pathOf(span collector.Span) string { return strings.Join(span.Path, " > ") }

// wantOne returns the only trace of a Service with all the paths.
func (r *rig) wantOne(service string, paths ...string) (id string, spans []collector.Span) {
	r.Helper()
	for candidate, trace := range r.traces(service) {
		if !slices.ContainsFunc(paths, func(path string) bool {
			_, found := find(trace, path)
			return !found
		}) {
			id, spans = candidate, trace
		}
	}
	if spans != nil {
		return id, spans
	}
	for id, trace := range r.traces(service) {
		r.Log(id)
		for _, span := range trace {
			r.Log("  ", pathOf(span), span.Status().Message(), span.Attributes().AsRaw())
		}
	}
	r.Fatalf("no trace of Service %s has all of %q", service, paths)
	return "", nil
}

// wantNode wants the traces of a Node and of its route: from the controller to the cloud and to Kubernetes. The line of
// the log about the write to the cloud has the trace of its route.
func (r *rig) wantNode(read, write string) {
	r.Helper()
	const routes = "node-route-controller"
	spans := r.Spans()
	for _, path := range []string{"cloud-node-controller > " + read, "cloud-node-controller > patch nodes",
		routes + " > patch nodes/status"} {
		if _, found := find(spans, path); !found {
			r.Errorf("no trace has %q", path)
		}
	}
	call, found := find(spans, routes+" > write > "+write)
	if !found {
		r.Fatalf("no trace has the call %s for a route", write)
	}
	if id := call.TraceID().String(); len(r.logged("Cloud write", `"`+write+`"`, podCIDR, `traceID="`+id+`"`)) != 1 {
		r.Errorf("the log has no write of the route to %s with the trace %s", podCIDR, id)
	}
}

// attribute returns the text of an attribute.
func attribute(span collector.Span, key string) string {
	value, _ := span.Attributes().Get(key)
	return value.AsString()
}

// wantNothingOf checks that nothing that was sent, and no metric, contains a secret.
func (r *rig) wantNothingOf(secret, metrics string) {
	r.Helper()
	sent, err := r.Bytes()
	r.must(err)
	if secret == "" || strings.Contains(string(sent), secret) || strings.Contains(metrics, secret) {
		r.Errorf("what was sent, or a metric, contains %q", secret)
	}
}

// logged returns the lines of the program's log with all the texts.
func (r *rig) logged(texts ...string) (lines []string) {
	r.Helper()
	text, err := os.ReadFile(r.path("log"))
	r.must(err)
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// metrics returns the program's metrics in a format.
func (r *rig) metrics(format string) string {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://"+r.listen+"/metrics", nil)
	r.must(err)
	request.Header.Set("Accept", format)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	r.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	r.must(err)
	if response.StatusCode != http.StatusOK {
		r.Fatal(fmt.Errorf("/metrics: %s: %s", response.Status, body))
	}
	return string(body)
}
