package simulator

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
)

const (
	networkingPath = "/apis/networking.ironcore.dev/v1alpha1"
	balancersPath  = networkingPath + "/namespaces/shoot/loadbalancers"
	protobuf       = "application/vnd.kubernetes.protobuf"
)

func TestHTTP(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, accept, contentType, body string
		code                                    int
	}{
		"list":             {http.MethodGet, balancersPath, "application/json", "", "", 200},
		"all namespaces":   {http.MethodGet, networkingPath + "/loadbalancers", "", "", "", 200},
		"protobuf":         {http.MethodGet, balancersPath, protobuf, "", "", 406},
		"protobuf or JSON": {http.MethodGet, balancersPath, protobuf + ", application/json", "", "", 200},
		"protobuf body":    {http.MethodPost, balancersPath, "", protobuf, "x", 415},
		"no JSON":          {http.MethodPost, balancersPath, "", "application/json", "x", 400},
		"no patch":         {http.MethodPatch, balancersPath + "/lb", "", "application/merge-patch+json", "[]", 400},
		"unknown patch":    {http.MethodPatch, balancersPath + "/lb", "", "application/json", "{}", 415},
		"apply without manager": {http.MethodPatch, balancersPath + "/lb", "", "application/apply-patch+yaml",
			`{"metadata":{"name":"lb"}}`, 422},
		"other kind":        {http.MethodGet, networkingPath + "/namespaces/shoot/natgateways", "", "", "", 404},
		"other group":       {http.MethodGet, "/api/v1/nodes", "", "", "", 404},
		"other subresource": {http.MethodGet, balancersPath + "/lb/scale", "", "", "", 404},
		"missing":           {http.MethodGet, balancersPath + "/none", "", "", "", 404},
		"unknown field": {http.MethodGet, balancersPath + "?fieldSelector=spec.networkRef.name%3Dnet",
			"", "", "", 400},
		"name":         {http.MethodGet, balancersPath + "?fieldSelector=metadata.name%3Dlb", "", "", "", 200},
		"bad selector": {http.MethodGet, balancersPath + "?labelSelector=%21%21", "", "", "", 400},
		"bad version":  {http.MethodGet, balancersPath + "?watch=true&resourceVersion=x", "", "", "", 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			r.createBalancer("lb", unchanged)
			request, err := http.NewRequestWithContext(t.Context(), test.method, r.Config().Host+test.path,
				strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", test.accept)
			request.Header.Set("Content-Type", test.contentType)
			response, err := r.Config().Transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			want(t, "code of "+string(body), response.StatusCode, test.code)
			requests := r.Requests()
			want(t, "recorded code", requests[len(requests)-1].Code, int32(test.code))
		})
	}
}

func TestListSelectsObjects(t *testing.T) {
	r := newRig(t, Options{})
	for _, name := range []string{"b", "a", "c"} {
		r.createBalancer(name, func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Labels = map[string]string{"name": name}
		})
	}
	list, err := r.clients.LoadBalancers.List(t.Context(), metav1.ListOptions{LabelSelector: "name!=b"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "names", list.Items[0].Name+list.Items[1].Name, "ac")
	want(t, "length", len(list.Items), 2)
	want(t, "reads", r.Reads(), 1)
}

func TestWatchSelectsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		r.addMachine("a", "10.0.0.1")
		ctx, cancel := context.WithCancel(t.Context())
		options := metav1.ListOptions{LabelSelector: "test=1", ResourceVersion: "1"}
		w, err := r.clients.NetworkInterfaces.Watch(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			label string
			event watch.EventType
		}{{"1", watch.Added}, {"2", watch.Deleted}, {"1", watch.Added}} {
			r.setLabel("a-primary", step.label)
			event := <-w.ResultChan()
			want(t, "event of "+step.label, event.Type, step.event)
		}
		cancel()
		_, ok := <-w.ResultChan()
		want(t, "open", ok, false)
	})
}

func TestExpiredWatch(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	r.ExpireWatches()
	w, err := r.clients.NetworkInterfaces.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	event := <-w.ResultChan()
	want(t, "event", event.Type, watch.Error)
	want(t, "expired", apierrors.IsResourceExpired(apierrors.FromObject(event.Object)), true)
}
