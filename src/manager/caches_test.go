package manager

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestManagedFieldsAreNotKept(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}}
	for name, in := range map[string]any{"an object": node, "something else": "text"} {
		out, err := withoutManagedFields(in)
		if err != nil || out != in {
			t.Errorf("%s: got %v and error %v, want it back", name, out, err)
		}
	}
	if node.ManagedFields != nil || node.Name != "n1" {
		t.Errorf("the node has become %v", node.ObjectMeta)
	}
}

func TestWhyCachesAreEmpty(t *testing.T) {
	forbidden := map[string]error{"*v1.Node": errors.New("nodes is forbidden")}
	tests := map[string]struct {
		away    error
		refused map[string]error
		want    string
	}{
		"it takes time": {nil, nil,
			"not yet read from the Kubernetes API: *v1.Node; *v1.Service"},
		"one is forbidden": {nil, forbidden,
			"not yet read from the Kubernetes API: *v1.Node (nodes is forbidden); *v1.Service"},
		"the API is away": {errors.New("connection refused"), forbidden,
			"the Kubernetes API cannot be reached: connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &caches{unreachable: test.away, refused: test.refused}
			if got := c.explain([]string{"*v1.Node", "*v1.Service"}).Error(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// answer is a transport with one answer.
type answer struct{ err error }

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, a.err
}

func TestReachIsRemembered(t *testing.T) {
	refused := errors.New("connection refused")
	ended, end := context.WithCancel(t.Context())
	end()
	tests := map[string]struct {
		ctx    context.Context
		before error
		err    error
		want   error
	}{
		"lost":                 {t.Context(), nil, refused, refused},
		"back again":           {t.Context(), refused, nil, nil},
		"cut off by ourselves": {ended, nil, context.Canceled, nil},
		"cut off while away":   {ended, refused, context.Canceled, refused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &caches{unreachable: test.before}
			transport := reach{answer{test.err}, c.reached}
			request, err := http.NewRequestWithContext(test.ctx, http.MethodGet, "http://127.0.0.1:1", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if !errors.Is(err, test.err) {
				t.Errorf("the error became %v", err)
			}
			response.Body.Close()
			if !errors.Is(c.unreachable, test.want) || (c.unreachable == nil) != (test.want == nil) {
				t.Errorf("remembered %v, want %v", c.unreachable, test.want)
			}
		})
	}
}
