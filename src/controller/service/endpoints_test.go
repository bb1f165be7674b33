package service

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// endpoint returns an endpoint on a node; "" for none. In conditions, "r", "s" and "t" mean that ready, serving or
// terminating is true, and "R", "S" and "T" that it is false. Otherwise it is nil.
func endpoint(node, conditions string) discoveryv1.Endpoint {
	var e discoveryv1.Endpoint
	if node != "" {
		e.NodeName = &node
	}
	for letter, into := range map[string]**bool{"r": &e.Conditions.Ready, "s": &e.Conditions.Serving,
		"t": &e.Conditions.Terminating} {
		if strings.Contains(strings.ToLower(conditions), letter) {
			is := strings.Contains(conditions, letter)
			*into = &is
		}
	}
	return e
}

// sliceOf returns an EndpointSlice of a Service.
func sliceOf(name, service string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Endpoints: endpoints}
	if service != "" {
		s.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	return s
}

// texts returns the names of nodes with ready endpoints, and of draining ones.
func (n endpointNodes) texts() (ready, draining string) {
	text := func(names map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(names)), " ") }
	return text(n.ready), text(n.draining)
}

// TestNodesOf: nodes have ready endpoints, or are draining if they have only such as are terminating and serve.
func TestNodesOf(t *testing.T) {
	tests := map[string]struct {
		endpoints       []discoveryv1.Endpoint
		ready, draining string
	}{
		"no information whether":          {[]discoveryv1.Endpoint{endpoint("a", "")}, "a", ""},
		"ready":                           {[]discoveryv1.Endpoint{endpoint("a", "rs")}, "a", ""},
		"ready, and not about to go":      {[]discoveryv1.Endpoint{endpoint("a", "rT")}, "a", ""},
		"not ready":                       {[]discoveryv1.Endpoint{endpoint("a", "RS")}, "", ""},
		"about to go":                     {[]discoveryv1.Endpoint{endpoint("a", "Rst")}, "", "a"},
		"about to go, and whether only":   {[]discoveryv1.Endpoint{endpoint("a", "t")}, "", "a"},
		"about to go, and does not serve": {[]discoveryv1.Endpoint{endpoint("a", "RSt")}, "", ""},
		"ready, but about to go":          {[]discoveryv1.Endpoint{endpoint("a", "rst")}, "", "a"},
		"one about to go, and one ready": {[]discoveryv1.Endpoint{endpoint("a", "Rst"), endpoint("a", "rs"),
			endpoint("b", "Rst")}, "a", "b"},
		"on no node": {[]discoveryv1.Endpoint{endpoint("", "r"), endpoint("", "Rst")}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var each []*discoveryv1.EndpointSlice // in a slice of its own
			for _, one := range tt.endpoints {
				each = append(each, sliceOf("web-1", "web", one))
			}
			apart, _ := nodesOf(each...).texts()
			ready, draining := nodesOf(sliceOf("web-1", "web", tt.endpoints...)).texts()
			if apart != ready || ready != tt.ready || draining != tt.draining {
				t.Errorf("ready %q, draining %q; want %q, %q", ready, draining, tt.ready, tt.draining)
			}
		})
	}
}

func TestEndpointsDiffer(t *testing.T) {
	a, ab, b, notReady := sliceOf("1", "web", endpoint("a", "")), sliceOf("1", "web", endpoint("a", "r"),
		endpoint("b", "")), sliceOf("1", "web", endpoint("b", "")),
		sliceOf("1", "web", endpoint("a", "R"))
	twice := sliceOf("1", "web", endpoint("a", ""), endpoint("a", ""))
	draining := sliceOf("1", "web", endpoint("a", "Rst"))
	tests := map[string]struct {
		before, after    *discoveryv1.EndpointSlice
		differs, removed bool
	}{
		"the same":              {ab, ab, false, false},
		"another on the node":   {a, twice, false, false},
		"one of two on it less": {twice, a, false, false},
		"a node more":           {a, ab, true, false},
		"a node less":           {ab, a, true, true},
		"another node":          {a, b, true, true},
		"new":                   {nil, a, true, false},
		"new, and not ready":    {nil, notReady, false, false},
		"not ready any more":    {a, notReady, true, true},
		"deleted":               {a, nil, true, true},
		"deleted, not ready":    {notReady, nil, false, false},
		"begins to drain":       {a, draining, true, false},
		"drains on":             {draining, draining, false, false},
		"drained":               {draining, notReady, true, true},
		"drained, deleted":      {draining, nil, true, true},
		"ready again":           {draining, a, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if differs, removed := endpointsDiffer(tt.before, tt.after); differs != tt.differs ||
				removed != tt.removed {
				t.Errorf("differs %v, leaves %v; want %v, %v", differs, removed, tt.differs, tt.removed)
			}
		})
	}
}

// TestSlim: Slim keeps the fields that are used, and does not change other objects.
func TestSlim(t *testing.T) {
	before := sliceOf("web-1", "web", endpoint("a", "rt"))
	before.Annotations, before.Ports = map[string]string{"big": "yes"}, []discoveryv1.EndpointPort{{}}
	before.Endpoints[0].Addresses, before.Endpoints[0].TargetRef = []string{"10.1.0.1"},
		&corev1.ObjectReference{Name: "web-0"}
	slim, err := Slim(before)
	after, ok := slim.(*discoveryv1.EndpointSlice)
	if err != nil || !ok || after.Annotations != nil || after.Ports != nil || after.Endpoints[0].Addresses != nil ||
		after.Endpoints[0].TargetRef != nil {
		t.Errorf("slim is %+v, error %v", slim, err)
	}
	if serviceKeyOf(after) != "shop/web" || *after.Endpoints[0].NodeName != "a" ||
		!*after.Endpoints[0].Conditions.Terminating {
		t.Errorf("what is needed is not in %+v", after)
	}
	node := &corev1.Node{}
	if same, err := Slim(node); same != any(node) || err != nil {
		t.Errorf("a node becomes %v, error %v", same, err)
	}
}
