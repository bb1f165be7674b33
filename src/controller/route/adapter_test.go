package route

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
)

// library is a cloud that implements only what k8s.io/cloud-provider requires.
type library struct {
	mu     sync.Mutex
	routes []*cloudprovider.Route
	calls  []string
	err    error
}

func (l *library) ListRoutes(_ context.Context, cluster string) ([]*cloudprovider.Route, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cluster != "k1" {
		return nil, errors.New("another cluster")
	}
	return slices.Clone(l.routes), l.err
}

func (l *library) CreateRoute(_ context.Context, _, hint string, r *cloudprovider.Route) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "create "+hint+" "+string(r.TargetNode)+" "+r.DestinationCIDR)
	l.routes = append(l.routes, r)
	return nil
}

func (l *library) DeleteRoute(_ context.Context, _ string, r *cloudprovider.Route) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "delete "+string(r.TargetNode)+" "+r.DestinationCIDR)
	l.routes = slices.DeleteFunc(l.routes, func(one *cloudprovider.Route) bool { return one == r })
	return nil
}

func (l *library) takeCalls() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.calls = nil }()
	return strings.Join(l.calls, ", ")
}

// TestLibraryCloud: the controller works with a cloud that implements only k8s.io/cloud-provider.
func TestLibraryCloud(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		provided.routes = []*cloudprovider.Route{
			{TargetNode: "gone", DestinationCIDR: "10.244.9.0/24"},
			{TargetNode: "gone", DestinationCIDR: "192.168.0.0/24"},
			{TargetNode: "b", DestinationCIDR: "10.244.2.0/24"}, {TargetNode: "a", DestinationCIDR: "10.244.8.0/24",
				Blackhole: true},
			{TargetNode: "a", DestinationCIDR: "strange"},
		}
		r.startWith(adapter.Routes("plain", provided, "k1"))
		calls := provided.takeCalls()
		for _, want := range []string{"create uid-a a 10.244.1.0/24", "delete gone 10.244.9.0/24",
			"delete a 10.244.8.0/24"} {
			if !strings.Contains(calls, want) {
				t.Errorf("done: %s; want %q", calls, want)
			}
		}
		wantIs(r, "writes", strings.Count(calls, ",")+1, 3)
		wantIs(r, "condition", r.condition("a"), created)
		r.nextPeriod()
		wantIs(r, "writes when nothing differs", provided.takeCalls(), "")
		r.deleteNode("a")
		r.settle()
		wantIs(r, "writes when a is gone", provided.takeCalls(), "delete a 10.244.1.0/24")
	})
}

// TestAddressesOfLibraryCloud: if such a cloud shows the addresses of gateways, they are compared.
func TestAddressesOfLibraryCloud(t *testing.T) {
	inRig(t, func(r *rig) {
		provided := &library{routes: []*cloudprovider.Route{{TargetNode: "a", DestinationCIDR: "10.244.1.0/24",
			EnableNodeAddresses: true,
			TargetNodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}}}}}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(adapter.Routes("plain", provided, "k1"))
		wantIs(r, "writes", provided.takeCalls(), "delete a 10.244.1.0/24, create uid-a a 10.244.1.0/24")
	})
}
