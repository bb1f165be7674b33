package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// loadBalancers implements cloud.LoadBalancers.
type loadBalancers struct{ *store }

// write is the Object of an operation: the load balancer after it, with the version that the plan was computed from.
type write struct{ LoadBalancer LoadBalancer }

// Identify implements cloud.LoadBalancers.
func (loadBalancers) Identify(node *corev1.Node) (identity string, ours bool) {
	identity, ours = strings.CutPrefix(node.Spec.ProviderID, prefix)
	if !ours {
		return "", node.Spec.ProviderID == ""
	}
	return identity, true
}

// NodeSelector implements cloud.LoadBalancers.
func (loadBalancers) NodeSelector(*corev1.Service) (labels.Selector, error) { return nil, nil }

// Diff implements cloud.LoadBalancers.
func (l loadBalancers) Diff(_ context.Context, service *corev1.Service,
	targets cloud.Targets, _ bool) (cloud.Comparison, error) {
	if err := l.ready(); err != nil {
		return cloud.Comparison{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	actual, exists := l.balancers[service.UID]
	targets = targets.Only(l.existing(targets), nil)
	desired := cloud.Desire(cloud.OwnerOf(Name, service), service)
	found := cloud.Comparison{Exists: exists, Targets: cloud.Choice{Machines: cloud.MachinesOf(targets.Serving),
		LeftOut: targets.Incomplete()}}
	next := actual
	next.Service, next.UID = types.NamespacedName{Namespace: service.Namespace, Name: service.Name},
		service.UID
	next.Ports = portsOf(desired)
	next.Targets = l.addresses(targets.Over(l.targetsOf(actual)))
	switch {
	case actual.Deleting:
		found.Balancer.State, found.Wait = "deleting", waitFor(actual, "deleting")
	case !exists:
		found.Plan = cloud.Plan{operation(cloud.Create, next, "")}
	case !slices.Equal(actual.Ports, next.Ports) || !slices.Equal(actual.Targets, next.Targets):
		found.Plan = cloud.Plan{operation(cloud.Update, next, difference(actual, next))}
		fallthrough
	default:
		found.Balancer.State = "ready"
		if !actual.Address.IsValid() {
			found.Balancer.State, found.Wait = "creating", waitFor(actual, "creating")
			break
		}
		found.Balancer.Status.Ingress = []corev1.LoadBalancerIngress{{IP: actual.Address.String()}}
	}
	return found, nil
}

// existing returns those of the machines that exist, sorted.
func (l loadBalancers) existing(targets cloud.Targets) []string {
	return slices.DeleteFunc(cloud.MachinesOf(targets.Serving, targets.Joining), func(id string) bool {
		_, exists := l.machines[id]
		return !exists
	})
}

// targetsOf returns the machines that are targets, sorted.
func (l loadBalancers) targetsOf(balancer LoadBalancer) []string {
	var ids []string
	for id, machine := range l.machines {
		if slices.Contains(balancer.Targets, machine.Address) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (l loadBalancers) addresses(ids []string) []netip.Addr {
	var addresses []netip.Addr
	for _, id := range ids {
		addresses = append(addresses, l.machines[id].Address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses
}

func portsOf(desired cloud.Desired) []Port {
	var ports []Port
	for _, port := range desired.Ports {
		ports = append(ports, Port{port.Protocol, port.Port})
	}
	return ports
}

func difference(actual, next LoadBalancer) string {
	if !slices.Equal(actual.Ports, next.Ports) {
		return fmt.Sprintf("ports %v become %v", actual.Ports, next.Ports)
	}
	return fmt.Sprintf("targets %v become %v", actual.Targets, next.Targets)
}

func operation(verb cloud.Verb, balancer LoadBalancer, why string) cloud.Operation {
	return cloud.Operation{Verb: verb, Kind: "load balancer", Name: balancer.Service.String(), Why: why,
		Object: write{balancer}}
}

func waitFor(balancer LoadBalancer, status string) *cloud.Wait {
	name := "load balancer " + balancer.Service.String()
	return &cloud.Wait{Object: string(balancer.UID), Name: name, Status: status, Deleting: balancer.Deleting,
		Message: fmt.Sprintf("%s is %s", name, status)}
}

// PlanDelete implements cloud.LoadBalancers.
func (l loadBalancers) PlanDelete(_ context.Context, service *corev1.Service, _ bool) (cloud.Comparison, error) {
	if err := l.ready(); err != nil {
		return cloud.Comparison{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	actual, exists := l.balancers[service.UID]
	switch {
	case !exists: // the watch may lag behind
		return cloud.Comparison{Exists: l.api.HasLoadBalancer(service.UID)}, nil
	case actual.Deleting:
		return cloud.Comparison{Exists: true, Balancer: cloud.Actual{State: "deleting"},
			Wait: waitFor(actual, "deleting")}, nil
	}
	return cloud.Comparison{Exists: true, Balancer: cloud.Actual{State: "ready"},
		Plan: cloud.Plan{operation(cloud.Delete, actual, "")}}, nil
}

// Apply implements cloud.LoadBalancers.
func (l loadBalancers) Apply(ctx context.Context, _ *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return plan.Each(ctx, func(_ context.Context, o cloud.Operation) (err error) {
		balancer := o.Object.(write).LoadBalancer
		l.mu.Lock() // so that the answer is stored before later events
		defer l.mu.Unlock()
		if o.Verb == cloud.Delete {
			balancer, err = l.api.DeleteLoadBalancer(balancer.UID, balancer.Version)
		} else {
			balancer, err = l.api.PutLoadBalancer(balancer)
		}
		if err == nil {
			l.putLoadBalancer(balancer)
		}
		return stale(err)
	})
}

// stale returns the error of a write, which is cloud.ErrStale if the object has changed since the watch reported it.
func stale(err error) error {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", cloud.ErrStale, err)
	}
	return err
}

// Refresh implements cloud.LoadBalancers.
func (loadBalancers) Refresh(context.Context) error { return nil } // the watch reports everything

// ClassifyError implements cloud.LoadBalancers.
func (loadBalancers) ClassifyError(err error) (transient bool, after time.Duration) {
	return errors.Is(err, errNotSynced), 0
}

// ListManaged implements cloud.LoadBalancers.
func (l loadBalancers) ListManaged(context.Context) ([]cloud.ManagedObject, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var managed []cloud.ManagedObject
	for uid, balancer := range l.balancers {
		managed = append(managed, cloud.ManagedObject{Service: balancer.Service, UID: uid, Kind: "load balancer",
			Name: balancer.Service.String(), Identity: string(uid)})
	}
	return managed, nil
}
