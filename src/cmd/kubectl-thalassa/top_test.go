package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// newTopRig returns a cluster with the Services api and web. A pod of the cloud controller manager runs, and answers
// with the metrics, or with the error.
func newTopRig(t *testing.T, metrics func() (string, error)) *rig {
	t.Helper()
	r := newRig(t)
	r.addService("web")
	r.addService("api", func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53,
			NodePort: 30053})
	})
	r.reconcile()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "thalassa-ccm-x",
		Labels: map[string]string{"app": "ccm"}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if _, err := r.cluster.CoreV1().Pods("kube-system").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.cluster.AddProxyReactor("pods", func(clienttesting.Action) (bool, rest.ResponseWrapper, error) {
		text, err := metrics()
		return true, response{text, err}, nil
	})
	r.wrote()
	return r
}

// response is an answer of the API server's proxy.
type response struct {
	text string
	err  error
}

// DoRaw implements rest.ResponseWrapper.
func (r response) DoRaw(context.Context) ([]byte, error) { return []byte(r.text), r.err }

// Stream implements rest.ResponseWrapper.
func (r response) Stream(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(r.text)), r.err
}

// metricsAfter is what a process reports that has made a number of calls and writes in two minutes.
func metricsAfter(calls, writes int) string {
	return fmt.Sprintf("# TYPE cloudprovider_thalassa_api_request_duration_seconds histogram\n"+
		"cloudprovider_thalassa_api_request_duration_seconds_bucket{request=\"list\",le=\"+Inf\"} %[1]d\n"+
		"cloudprovider_thalassa_api_request_duration_seconds_sum{request=\"list\"} 1\n"+
		"cloudprovider_thalassa_api_request_duration_seconds_count{request=\"list\"} %[1]d\n"+
		"# TYPE service_lb_writes_total counter\nservice_lb_writes_total{verb=\"create\"} %[2]d\n"+
		"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %[3]d\n", calls, writes,
		time.Now().Add(-2*time.Minute).Unix())
}

// TestTop: without a terminal it prints once, and writes nothing.
func TestTop(t *testing.T) {
	r := newTopRig(t, func() (string, error) { return metricsAfter(50, 6), nil })
	shown := r.run("top")
	wantText(r, "the result", shown.out, "2 load balancers, 2", " calls per minute, ", " writes per minute (of "+
		"", "SERVICE",
		"shop/api", "80/TCP 53/UDP", "shop/web", "ready", "It does not report whether the targets are healthy.")
	want(r, "the health is shown once", strings.Count(shown.out, "does not report"), 1)
	want(r, "exit code", shown.code, 0)
	want(r, "names", r.run("top", "--once", "-o", "name").out, "service/api\nservice/web\n")
	wantText(r, "one Service", r.run("top", "web").out, "1 load balancer,")
	wantText(r, "a wrong order", r.run("top", "--sort=age").err, "--sort=age: want one of name, targets, state")
	wantText(r, "a short interval", r.run("top", "--interval=1ms").err, "want at least 1s")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	var got plugin.Top
	decoder := json.NewDecoder(strings.NewReader(r.run("top", "-o", "json").out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		wantWidth(r, r.run("top").out, width)
		wantText(r, "a UID, to copy", r.run("top", "-o", "wide").out, got.LoadBalancers[0].UID)
	}
	want(r, "calls", int(got.Calls.PerMinute), 24)
	want(r, "targets", got.LoadBalancers[0].Targets, 2)
	want(r, "in sync", got.LoadBalancers[0].InSync, true)
}

// TestTopWithoutMetrics: if metrics cannot be read, one line says why, and the rest is shown.
func TestTopWithoutMetrics(t *testing.T) {
	err := error(apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("no")))
	r := newTopRig(t, func() (string, error) { return "", err })
	shown := r.run("top")
	wantText(r, "not permitted", shown.out, "Calls are not known: reading the metrics of pod thalassa-ccm-x is not "+
		"permitted",
		"shop/web")
	want(r, "exit code", shown.code, 0)
	err = errors.New("no route to host")
	wantText(r, "another error", r.run("top").out, "Calls are not known: reading the metrics", "no route to host")
}

// TestTopRefreshes: on a terminal, it draws on a screen of its own until q is pressed, and restores the terminal.
func TestTopRefreshes(t *testing.T) {
	calls := 50
	r := newTopRig(t, func() (string, error) { calls += 7; return metricsAfter(calls, 6), nil })
	keys, restored := newKeys(), 0
	r.ticks, r.answer = make(chan time.Time, 1), ""
	r.ticks <- time.Now()
	frames := 0
	r.screen = terminal.Terminal{Interactive: true, Width: 80, Size: func() (int, int) {
		if frames++; frames == 2 {
			keys.press("q")
		}
		return 100, 5
	}, Raw: func() (func(), error) { return func() { restored++ }, nil }}
	r.keys = keys
	shown := r.run("top")
	want(r, "exit code", shown.code, 0)
	want(r, "restored", restored, 1)
	want(r, "frames", strings.Count(shown.out, "\x1b[H") >= 1, true)
	want(r, "begins with a screen of its own", strings.HasPrefix(shown.out, "\x1b[?1049h"), true)
	want(r, "ends with the former screen", strings.HasSuffix(shown.out, "\x1b[?25h\x1b[?1049l"), true)
	wantText(r, "the screen", shown.out, "shop/api", "more lines")
}

// keys are what a user presses.
type keys struct {
	*io.PipeReader
	in *io.PipeWriter
}

func newKeys() *keys {
	reader, writer := io.Pipe()
	return &keys{reader, writer}
}

// press presses keys.
func (k *keys) press(text string) { go func() { _, _ = k.in.Write([]byte(text)) }() }

// TestTopWithoutKubernetes: when the API server does not answer any more, what was read last is shown as such.
func TestTopWithoutKubernetes(t *testing.T) {
	r := newTopRig(t, func() (string, error) { return metricsAfter(50, 6), nil })
	keys, frames := newKeys(), 0
	r.ticks, r.keys = make(chan time.Time, 2), keys
	r.ticks <- time.Now()
	r.ticks <- time.Now()
	refused := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewUnauthorized("the token has expired")
	}
	r.screen = terminal.Terminal{Interactive: true, Width: 100, Size: func() (int, int) {
		switch frames++; frames {
		case 2:
			r.cluster.PrependReactor("list", "services", refused)
		case 3:
			keys.press("q")
		}
		return 100, 20
	}, Raw: func() (func(), error) { return func() {}, nil }}
	shown := r.run("top", "-A")
	want(r, "exit code", shown.code, 0)
	wantText(r, "the screen", shown.out, "shop/api", "Not refreshed: reading Services: the token has expired")
}
