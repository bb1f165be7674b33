package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func TestRequests(t *testing.T) {
	c, s := newClient(t)
	if err := c.Probe(t.Context(), "net-1"); err != nil {
		t.Fatal(err)
	}
	request := s.requests[0]
	want := "http://ironcore.example/apis/networking.ironcore.dev/v1alpha1/namespaces/tenant-1/networks/net-1"
	if request.URL.String() != want {
		t.Errorf("URL %s, want %s", request.URL, want)
	}
	if accept := request.Header.Get("Accept"); !strings.HasPrefix(accept, "application/json") {
		t.Errorf("accepts %q", accept)
	}
	if request.Header.Get("User-Agent") == "" {
		t.Error("no user agent")
	}
}

// TestDelete: the answer to a deletion is the object while finalizers hold it; otherwise it is a status.
func TestDelete(t *testing.T) {
	for name, test := range map[string]struct {
		status                  int
		answer, version, reason string
	}{
		"held": {http.StatusOK, `{"kind": "LoadBalancer", "apiVersion": "networking.ironcore.dev/v1alpha1",
			"metadata": {"name": "web", "resourceVersion": "7", "finalizers": ["example.com/held"]}}`, "7", ""},
		"gone": {http.StatusOK, `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`, "", ""},
		"missing": {http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"reason": "NotFound", "code": 404}`, "", "NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newClient(t)
			s.status, s.answer = test.status, test.answer
			uid := types.UID("1")
			options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
			var answer v1alpha1.LoadBalancer
			err := c.Delete(t.Context(), "loadbalancers", "web", options, &answer)
			if got := string(apierrors.ReasonForError(err)); got != test.reason {
				t.Errorf("got %v, want the reason %q", err, test.reason)
			}
			if answer.ResourceVersion != test.version {
				t.Errorf("the version in the answer is %q, want %q", answer.ResourceVersion, test.version)
			}
			request := s.requests[0]
			body, _ := io.ReadAll(request.Body)
			if request.Method != http.MethodDelete || !strings.Contains(string(body), `"uid":"1"`) ||
				!strings.HasSuffix(request.URL.Path, "/namespaces/tenant-1/loadbalancers/web") {
				t.Errorf("%s %s with %s", request.Method, request.URL, body)
			}
		})
	}
}

// TestDeletionIsNotSentAgain: a deletion that is refused for a time is an error at once, which says for how long.
func TestDeletionIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		s.status, s.header = http.StatusTooManyRequests, http.Header{"Retry-After": {"7"}}
		err := c.Delete(t.Context(), "loadbalancers", "web", metav1.DeleteOptions{}, new(v1alpha1.LoadBalancer))
		if after, suggested := apierrors.SuggestsClientDelay(err); !suggested || after != 7 || s.count() != 1 {
			t.Errorf("%d requests, and the error %v with the delay %d s", s.count(), err, after)
		}
	})
}

// TestRateLimit: the groups share one limit. Watches are not limited.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: http.StatusOK, answer: network}
		c, err := New(&rest.Config{Host: "http://ironcore.example", Transport: s, QPS: 1, Burst: 2}, "tenant-1")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 2 {
			if _, err := c.Networks.Get(t.Context(), "net-1", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
			_, _ = c.Machines.Get(t.Context(), "m-1", metav1.GetOptions{})
		}
		if took := time.Since(began).Round(time.Millisecond); took != 2*time.Second {
			t.Errorf("4 requests took %s, want 2 seconds with 2 at once and 1 per second", took)
		}
	})
}

func TestWrongConfiguration(t *testing.T) {
	for name, config := range map[string]*rest.Config{
		"host": {Host: "://"},
		"certificate": {Host: "https://ironcore.example",
			TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x"), KeyData: []byte("y")}},
	} {
		if _, err := New(config, "tenant-1"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDeadline: every request that is not a watch ends in time, also while its answer is read.
func TestDeadline(t *testing.T) {
	const want = "the IronCore API has not answered within 30s"
	for name, prepare := range map[string]func(*server){
		"no answer": func(s *server) { s.block = untilDone },
		"half an answer": func(s *server) {
			s.body = func(request *http.Request) io.ReadCloser { return blockedBody{request} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newClient(t)
				prepare(s)
				began := time.Now()
				err := c.Probe(t.Context(), "net-1")
				if time.Since(began) != DefaultCallTimeout || !errors.Is(err, context.DeadlineExceeded) ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("after %s: %v, want %s", time.Since(began), err, want)
				}
				if _, err := c.LastRequest(); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("last request: %v", err)
				}
				failures := c.transport.metrics.failures.WithLabelValues("get", "networks", "timeout")
				if got := testutil.ToFloat64(failures); got != 1 {
					t.Errorf("%v timeouts are counted, want 1", got)
				}
			})
		})
	}
}

// blockedBody is an answer that does not end.
type blockedBody struct{ request *http.Request }

func (b blockedBody) Read([]byte) (int, error) { return 0, untilDone(b.request) }
func (b blockedBody) Close() error             { return nil }

func TestDeadlineOfConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{block: untilDone}
		c, err := New(&rest.Config{Host: "http://ironcore.example", Transport: s, Timeout: time.Second}, "tenant-1")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.Probe(t.Context(), "net-1"); err == nil || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if timeout := s.requests[0].URL.Query().Get("timeout"); timeout != "" {
			t.Errorf("the server is told timeout=%s, which would apply to watches, too", timeout)
		}
	})
}

// TestCanceled: a caller that stops waiting says nothing about the API.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		s.block = untilDone
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := c.Probe(ctx, "net-1"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if ended, err := c.LastRequest(); !ended.IsZero() || err != nil {
			t.Errorf("a request is recorded at %s: %v", ended, err)
		}
		if got := testutil.CollectAndCount(c.transport.metrics.failures); got != 0 {
			t.Errorf("%d failures are counted", got)
		}
	})
}

// TestSentAgain: a request that has no answer at the end of an outage is sent again, with its body. The end does not
// concern a watch that has begun.
func TestSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		reader, writer := io.Pipe()
		s.body = func(*http.Request) io.ReadCloser { return reader }
		watch, err := c.Networks.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		defer func() { stop(); synctest.Wait() }()
		var bodies []string
		s.body, s.block = nil, func(request *http.Request) error {
			if request.Method != http.MethodPatch {
				return errDown
			}
			text, _ := io.ReadAll(request.Body)
			bodies = append(bodies, string(text))
			return untilDone(request)
		}
		c.transport.outage.Record(false)
		go c.MonitorOutages(ctx, "net-1")
		time.AfterFunc(10*time.Second, func() { // the request hangs, and new ones are answered
			s.mu.Lock()
			defer s.mu.Unlock()
			s.block = nil
		})
		patch := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
		began := time.Now()
		if _, err := c.Networks.Patch(ctx, "net-1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
		again, _ := io.ReadAll(s.requests[len(s.requests)-1].Body)
		if len(bodies) != 1 || bodies[0] != string(patch) || string(again) != string(patch) {
			t.Errorf("sent %q, and then %q", bodies, again)
		}
		if _, problem := c.LastRequest(); problem != nil {
			t.Errorf("last request: %v", problem)
		}
		if s.requests[0].Context().Err() != nil {
			t.Error("the watch was ended")
		}
		watch.Stop()
		_ = writer.Close()
	})
}

// TestWatch: a watch has a deadline only until it has begun. It is not timed.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		reader, writer := io.Pipe()
		s.body = func(request *http.Request) io.ReadCloser {
			context.AfterFunc(request.Context(), func() { _ = reader.CloseWithError(request.Context().Err()) })
			return reader
		}
		watch, err := c.Networks.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if ended, err := c.LastRequest(); ended.IsZero() || err != nil {
			t.Errorf("the watch has begun, but the last request was at %s: %v", ended, err)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		go func() { _, _ = io.WriteString(writer, `{"type": "ADDED", "object": `+network+"}\n") }()
		event := <-watch.ResultChan()
		if found, ok := event.Object.(*v1alpha1.Network); !ok || found.Name != "net-1" {
			t.Errorf("after an hour: event %v", event)
		}
		watch.Stop()
		synctest.Wait()
		select {
		case <-s.requests[0].Context().Done():
		default:
			t.Error("the context of the watch has not ended")
		}
		if got := testutil.CollectAndCount(c.transport.metrics.duration); got != 0 {
			t.Errorf("%d durations of watches", got)
		}
		_ = writer.Close()

		s.block = untilDone
		began := time.Now()
		if _, err := c.Networks.Watch(t.Context(), metav1.ListOptions{}); err == nil ||
			time.Since(began) != DefaultCallTimeout {
			t.Errorf("a watch that does not begin: %v after %s", err, time.Since(began))
		}
	})
}

func TestMetrics(t *testing.T) {
	c, s := newClient(t)
	ctx := t.Context()
	_ = c.Probe(ctx, "net-1")
	for _, code := range []int{http.StatusNotFound, http.StatusConflict} {
		s.set(code, nil)
		_, _ = c.Machines.Patch(ctx, "m-1", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status")
	}
	s.set(0, errDown)
	_, _ = c.MachinePools.List(ctx, metav1.ListOptions{})
	_, _ = c.LoadBalancers.Watch(ctx, metav1.ListOptions{})
	want := `
# HELP cloudprovider_ironcore_api_request_errors Number of failed requests to the IronCore API, by code: the HTTP ` +
		`status, timeout (no answer in time) or unreachable.
# TYPE cloudprovider_ironcore_api_request_errors counter
cloudprovider_ironcore_api_request_errors{code="404",resource="machines/status",verb="patch"} 1
cloudprovider_ironcore_api_request_errors{code="409",resource="machines/status",verb="patch"} 1
cloudprovider_ironcore_api_request_errors{code="unreachable",resource="loadbalancers",verb="watch"} 1
cloudprovider_ironcore_api_request_errors{code="unreachable",resource="machinepools",verb="list"} 1
`
	registry := registered(c)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"cloudprovider_ironcore_api_request_errors"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	timed := map[string]uint64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if histogram := metric.GetHistogram(); histogram != nil {
				labels := metric.GetLabel()
				timed[labels[1].GetValue()+" "+labels[0].GetValue()] = histogram.GetSampleCount()
			}
		}
	}
	if diff := cmp.Diff(map[string]uint64{"get networks": 1, "patch machines/status": 2, "list machinepools": 1},
		timed); diff != "" {
		t.Errorf("timed requests (-want +got):\n%s", diff)
	}
	if problems, err := testutil.GatherAndLint(registry,
		"cloudprovider_ironcore_api_request_duration_seconds"); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestServerWithPath: the path of the server's URL is not a part of the operation.
func TestServerWithPath(t *testing.T) {
	s := &server{status: http.StatusNotFound}
	c, err := New(&rest.Config{Host: "http://ironcore.example/garden/", Transport: s}, "tenant-1")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Probe(t.Context(), "net-1")
	if path := s.requests[0].URL.Path; !strings.HasPrefix(path, "/garden/apis/networking.ironcore.dev/") {
		t.Errorf("path %s", path)
	}
	failures := c.transport.metrics.failures.WithLabelValues("get", "networks", "404")
	if got := testutil.ToFloat64(failures); got != 1 {
		t.Errorf("%v failures are counted for the Network, want 1", got)
	}
}

func TestOperations(t *testing.T) {
	const group = "/apis/compute.ironcore.dev/v1alpha1/"
	for _, tt := range []struct{ method, path, verb, resource, name string }{
		{"GET", group + "namespaces/a/machines", "list", "machines", ""},
		{"GET", group + "namespaces/a/machines?watch=true", "watch", "machines", ""},
		{"GET", "/prefix" + group + "namespaces/apis/machines/apis", "get", "machines", "apis"},
		{"GET", group + "machinepools/p", "get", "machinepools", "p"},
		{"POST", group + "namespaces/a/machines", "create", "machines", ""},
		{"PUT", group + "namespaces/a/machines/b/status", "update", "machines/status", "b"},
		{"DELETE", group + "namespaces/a/machines", "deletecollection", "machines", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tt.method, "https://x"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := operationOf(request, "/prefix"); got != (operation{tt.verb, tt.resource, tt.name}) {
			t.Errorf("%s %s is %v", tt.method, tt.path, got)
		}
	}
}

func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		if err := c.Ready(); err != nil || s.count() != 0 {
			t.Errorf("without a request: %v, and %d requests", err, s.count())
		}
		for _, tt := range []struct {
			status int
			err    error
			want   string
		}{
			{200, nil, ""},
			{404, nil, ""}, {403, nil, ""}, {409, nil, ""}, {422, nil, ""},
			{401, nil, "the IronCore API does not accept the credentials (HTTP 401)"},
			{200, nil, ""},
			{500, nil, "the IronCore API has failed (HTTP 500)"},
			{0, errDown, "the IronCore API does not answer: connection refused"},
		} {
			<-time.After(time.Minute)
			s.set(tt.status, tt.err)
			_ = c.Probe(t.Context(), "net-1")
			ended, err := c.LastRequest()
			if problem(err) != tt.want || !ended.Equal(time.Now()) {
				t.Errorf("status %d: %v at %s, want %q", tt.status, err, ended, tt.want)
			}
		}

		before := s.count()
		for range 100 { // 1 second apart
			if c.Ready() == nil {
				t.Error("ready while the API does not answer")
			}
			<-time.After(time.Second)
		}
		if probes := s.count() - before; probes != 10 {
			t.Errorf("%d requests in 100 seconds, want one in 10 seconds", probes)
		}
		s.set(200, nil)
		_ = c.Ready()
		synctest.Wait()
		if err := c.Ready(); err != nil {
			t.Errorf("the API answers again, but: %v", err)
		}
	})
}
