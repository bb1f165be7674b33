package cloudtest_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud/cloudtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
)

// TestConformance: all controllers work with a cloud that reports its changes. They react within a second, and never
// poll it.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) conformance.Cloud {
		return newCloud(&cloudtest.API{ProvisionTime: provision, DeletionTime: provision})
	})
}

const provision = 30 * time.Second

// newCloud returns a cloud whose machines have their names as IDs.
func newCloud(api *cloudtest.API) conformance.Cloud {
	machines := 0
	nextHops := func(destination netip.Prefix) (id string) {
		for _, machine := range api.Machines() {
			if slices.Contains(machine.Prefixes, destination) {
				id = machine.ID
			}
		}
		return id
	}
	return conformance.Cloud{
		New: func() *cloud.Cloud {
			offered := cloudtest.New(api)
			offered.LoadBalancerBehaviour.RemoveOrphans = true
			return offered
		},
		Reaction: time.Second, Provision: provision, ReadsPerHour: 0, Reads: api.Reads,
		Writes: func() int { return len(api.Writes()) },
		AddMachine: func(name string) {
			machines++
			address := netip.AddrFrom4([4]byte{10, 0, 0, byte(machines)})
			api.ChangeMachine(name, func(m *cloudtest.Machine) { m.Name, m.Address = name, address })
		},
		StopMachine:   func(name string) { api.ChangeMachine(name, func(m *cloudtest.Machine) { m.Stopped = true }) },
		StartMachine:  func(name string) { api.ChangeMachine(name, func(m *cloudtest.Machine) { m.Stopped = false }) },
		DeleteMachine: api.DeleteMachine,
		LoadBalancer: func(service types.NamespacedName) (conformance.LoadBalancer, bool) {
			return loadBalancer(api, service)
		},
		RemoveTarget: func(service types.NamespacedName, machine string) {
			found, _ := api.Machine(machine)
			api.ChangeLoadBalancer(service, func(b *cloudtest.LoadBalancer) {
				b.Targets = slices.DeleteFunc(b.Targets, func(a netip.Addr) bool { return a == found.Address })
			})
		},
		NextHop: nextHops,
		DeleteRoute: func(destination netip.Prefix) {
			api.ChangeMachine(nextHops(destination), func(m *cloudtest.Machine) {
				m.Prefixes = slices.DeleteFunc(m.Prefixes, func(p netip.Prefix) bool { return p == destination })
			})
		},
	}
}

func loadBalancer(api *cloudtest.API, service types.NamespacedName) (conformance.LoadBalancer, bool) {
	balancer, exists := api.LoadBalancer(service)
	var seen conformance.LoadBalancer
	for _, port := range balancer.Ports {
		seen.Ports = append(seen.Ports, port.Port)
	}
	for _, machine := range api.Machines() {
		if slices.Contains(balancer.Targets, machine.Address) {
			seen.Machines = append(seen.Machines, machine.Name)
		}
	}
	slices.Sort(seen.Machines)
	return seen, exists
}

// TestInterruptedWatch: changes during an interruption are found when the watch begins again.
func TestInterruptedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &cloudtest.API{}
		api.ChangeMachine("a", func(m *cloudtest.Machine) { m.Name = "a" })
		offered := cloudtest.New(api)
		ctx, cancel := context.WithCancel(t.Context())
		var reports []cloud.Change
		go offered.Changes(ctx, func(change cloud.Change) { reports = append(reports, change) })
		synctest.Wait()
		offered.Start(ctx, nil)
		synctest.Wait()
		api.InterruptWatches("a")
		synctest.Wait()
		all := cloud.Change{All: true}
		if want := []cloud.Change{all, all}; !slices.Equal(reports, want) {
			t.Errorf("reports %v, want %v: of the call, and of the second watch", reports, want)
		}
		node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "cloudtest://a"}}
		if state, err := offered.Machines.State(ctx, node, time.Time{}); state != cloud.MachineGone || err != nil {
			t.Errorf("state %q, error %v, want gone", state, err)
		}
		cancel()
		synctest.Wait()
	})
}

// TestStale: a plan for an earlier version of a load balancer is not written.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, web := &cloudtest.API{}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}}
		balancers := cloudtest.New(api)
		ctx, cancel := context.WithCancel(t.Context())
		balancers.Start(ctx, nil)
		synctest.Wait()
		apply := func() error {
			found, err := balancers.LoadBalancers.PlanDelete(ctx, web, false)
			if err != nil || len(found.Plan) == 0 {
				t.Fatalf("plan %v, error %v", found.Plan, err)
			}
			api.ChangeLoadBalancer(types.NamespacedName{Name: "web"}, func(*cloudtest.LoadBalancer) {})
			_, err = balancers.LoadBalancers.Apply(ctx, web, found.Plan)
			synctest.Wait()
			return err
		}
		key := types.NamespacedName{Name: "web"}
		if _, err := api.PutLoadBalancer(cloudtest.LoadBalancer{Service: key, UID: "1"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second) // until it has an address
		if err := apply(); !errors.Is(err, cloud.ErrStale) {
			t.Errorf("error %v, want ErrStale", err)
		}
		if _, exists := api.LoadBalancer(types.NamespacedName{Name: "web"}); !exists {
			t.Error("the load balancer was deleted")
		}
		cancel()
		synctest.Wait()
	})
}
