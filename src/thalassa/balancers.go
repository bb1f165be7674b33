package thalassa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Reasons of the provider's notices.
const (
	reasonAnnotation = "InvalidAnnotation"
	// reasonRestriction: the Service asks for less than everybody, which this version cannot do.
	reasonRestriction = "RestrictionNotApplied"
	// reasonLeftOut: nodes of the Service get none of its traffic.
	reasonLeftOut = "NodesLeftOut"
)

// What a load balancer shows once it serves, and while it does so and is being changed.
const (
	statusReady    = "ready"
	statusUpdating = "updating"
)

// balancers compares what Services should have with what is in the cloud. What it remembers of a Service is in the inventory.
type balancers struct {
	config      Config
	inventory   *inventory.Inventory
	annotations annotations
	planner     planner
}

var _ loadbalancer.Provider = (*balancers)(nil)

func newBalancers(c Config, known *inventory.Inventory) *balancers {
	return &balancers{
		config: c, inventory: known, annotations: newAnnotations(),
		planner: planner{inventory: known, separately: &atomic.Bool{}, removals: &removals{}},
	}
}

// Identify implements loadbalancer.Provider.
func (b *balancers) Identify(node *corev1.Node) (identity string, ours bool) { return identify(node) }

// Compare implements loadbalancer.Provider.
func (b *balancers) Compare(ctx context.Context, service *corev1.Service, targets loadbalancer.Targets) (loadbalancer.Comparison, error) {
	d, notices, unserved, err := b.desire(ctx, service, targets)
	if err != nil {
		return loadbalancer.Comparison{}, err
	}
	o, err := b.observeSteady(ctx, service)
	if err != nil {
		return loadbalancer.Comparison{}, err
	}
	found := loadbalancer.Comparison{Machines: d.Targets.Identities, LeftOut: len(d.Targets.Identities)+len(d.Targets.Joining) < len(targets.Machines()),
		Notices: append(notices, b.planner.removals.kept(d, o)...)}
	d.Ports, found.Refused = openable(service, d.Ports, o)
	found.Refused = errors.Join(found.Refused, unserved)
	switch {
	case len(o.balancers) > 0:
		b.compareWith(service, o.balancers[0], d, o, &found)
	case found.Refused == nil:
		err = b.compareWithNone(ctx, service, d, o, &found)
	default:
		found.Exists = !o.empty()
	}
	b.explain(service, found.Plan)
	return found, err
}

// compareWith completes a comparison for a Service that has a load balancer.
func (b *balancers) compareWith(service *corev1.Service, balancer inventory.LoadBalancer, d desired, o observed, found *loadbalancer.Comparison) {
	found.Exists, found.State, found.Status = true, balancer.Status, statusOf(service, balancer)
	if balancer.Deleting() {
		found.Refused = nil
		found.Wait = &loadbalancer.Wait{Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status, Going: true, Patient: true,
			Message: fmt.Sprintf("load balancer %s is being deleted; a new one follows once it is gone", balancer.Name)}
		return
	}
	found.Plan = b.planner.plan(d, o)
	if !serves(service, balancer) {
		found.Wait = waitFor(balancer)
	}
}

// compareWithNone completes a comparison for a Service that has no load balancer.
func (b *balancers) compareWithNone(ctx context.Context, service *corev1.Service, d desired, o observed, found *loadbalancer.Comparison) (err error) {
	found.Exists = !o.empty()
	b.inherit(service)
	if within := b.inventory.Doubtful(string(service.UID)); within > 0 {
		found.Exists = true
		found.Wait = doubt(within, "something may have been made for this Service a moment ago, by a creation without an answer or by whoever led before; whether it was shows within a minute")
		return nil
	}
	if d.subnet, err = b.subnet(ctx); err != nil {
		return err
	}
	found.Plan = b.planner.plan(d, o)
	return nil
}

// inherit is for a Service of which lists show nothing, although its finalizer says that there may be something.
func (b *balancers) inherit(service *corev1.Service) {
	if helpers.HasLBFinalizer(service) {
		b.inventory.Inherit(string(service.UID))
	}
}

// doubt is waiting for the cloud's lists to show whether something was made.
func doubt(within time.Duration, message string) *loadbalancer.Wait {
	return &loadbalancer.Wait{Name: "the outcome of a creation", Status: "unknown", Within: within, Message: message}
}

// Remaining implements loadbalancer.Provider.
func (b *balancers) Remaining(ctx context.Context, service *corev1.Service, written bool) (loadbalancer.Comparison, error) {
	o, err := b.observe(ctx, service, b.fresh())
	if err == nil && written && o.empty() {
		// That everything is gone is believed only from lists that began after the last deletion, which may take its time although it was
		// accepted.
		o, err = b.observe(ctx, service, inventory.Anew)
	}
	if err != nil {
		return loadbalancer.Comparison{}, err
	}
	if o.empty() {
		b.inherit(service)
	}
	doubtful := b.inventory.Doubtful(string(service.UID))
	found := loadbalancer.Comparison{Exists: !o.empty() || doubtful > 0, Plan: b.planner.deletion(o)}
	wait := loadbalancer.Wait{Going: true, Name: "what the Service had", Message: "the cloud is still deleting " + o.String()}
	if len(o.balancers) > 0 {
		balancer := o.balancers[0]
		found.State, found.Status = balancer.Status, statusOf(service, balancer)
		wait.Object, wait.Name, wait.Status = balancer.ID, kindBalancer+" "+balancer.Name, balancer.Status
	}
	switch {
	case !o.empty():
		found.Wait = &wait
	case doubtful > 0:
		found.Wait = doubt(doubtful, "something may still be there: a creation ended without an answer, or whoever led before made it a moment ago, and the cloud's lists may not show it yet")
	}
	b.explain(service, found.Plan)
	return found, nil
}

// Refresh implements loadbalancer.Provider.
func (b *balancers) Refresh(ctx context.Context) error { return b.inventory.Refresh(ctx) }

// Owned implements loadbalancer.Provider.
func (b *balancers) Owned(ctx context.Context) ([]loadbalancer.Owned, error) {
	all, groups, _, err := b.inventory.All(ctx, b.config.Inventory.balancerAge())
	if err != nil {
		return nil, err
	}
	owned := make([]loadbalancer.Owned, 0, len(all)+len(groups))
	for _, balancer := range all {
		owned = append(owned, owner(balancer.Labels, kindBalancer, balancer.Name, balancer.ID, balancer.Status))
	}
	for _, group := range groups {
		owned = append(owned, owner(group.Labels, kindGroup, group.Name, group.ID, ""))
	}
	return slices.DeleteFunc(owned, func(one loadbalancer.Owned) bool { return one.UID == "" }), nil
}

// owner says which Service an object with these labels belongs to.
func owner(labels inventory.Labels, kind, name, identity, state string) loadbalancer.Owned {
	return loadbalancer.Owned{
		Service: types.NamespacedName{Namespace: labels[labelNamespace], Name: labels[labelName]}, UID: types.UID(labels[labelUID]),
		Kind: kind, Name: name, Identity: identity, State: state,
	}
}

// Judge implements loadbalancer.Provider.
func (b *balancers) Judge(err error) (passing bool, after time.Duration) {
	passing = errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) || errors.Is(err, client.ErrMalformed) ||
		errors.Is(err, client.ErrShutdown) || errors.Is(err, context.Canceled)
	return passing, client.RetryAfter(err)
}

// desire is what the Service should have, and what its owner should know about that. Unserved is about the ports that cannot be had.
func (b *balancers) desire(ctx context.Context, service *corev1.Service, targets loadbalancer.Targets) (d desired, notices []loadbalancer.Notice, unserved, err error) {
	usable, err := b.existing(ctx, targets)
	if err != nil {
		return desired{}, nil, nil, err
	}
	common, unserved := loadbalancer.Desire(loadbalancer.OwnerOf(b.config.Cluster, service), service, usable)
	unserved = errors.Join(unserved, withoutProtocols(&common))
	settings, problems := b.annotations.read(service.Annotations)
	for _, problem := range problems {
		notices = append(notices, loadbalancer.Notice{Topic: loadbalancer.Settings, Reason: reasonAnnotation, Message: problem.String()})
	}
	if asked := restrictionOf(service); asked != "" {
		notices = append(notices, loadbalancer.Notice{Topic: loadbalancer.Settings, Reason: reasonRestriction, Message: fmt.Sprintf(
			"%s cannot be applied by this version yet: no port is opened because of it, and ports that are open already stay as they are.", asked)})
	}
	return desired{
		Desired: common, settings: settings,
		name:        cloudprovider.DefaultLoadBalancerName(service),
		labels:      ownerLabels(common.Owner, b.config.AdditionalLabels),
		healthCheck: healthCheckOf(service, common.HealthCheckNodePort),
	}, append(notices, leftOutOf(targets, usable).notices(b.config.VPCIdentity)...), unserved, nil
}

// withoutProtocols takes out the ports whose protocols the cloud does not have.
func withoutProtocols(d *loadbalancer.Desired) error {
	var problems []error
	d.Ports = slices.DeleteFunc(d.Ports, func(port loadbalancer.Port) bool {
		p := port.Protocol
		if p == corev1.ProtocolTCP || p == corev1.ProtocolUDP {
			return false
		}
		d.Unserved = append(d.Unserved, port.Key)
		problems = append(problems, fmt.Errorf("port %s of Service %s: Thalassa Cloud load balancers have no %s; use TCP or UDP", port.Key, d.Owner, p))
		return true
	})
	return errors.Join(problems...)
}

// observeSteady returns everything of the Service in the cloud. What is known may be older than the interval of looking again, and
// while a load balancer does not serve it is time to look.
func (b *balancers) observeSteady(ctx context.Context, service *corev1.Service) (observed, error) {
	o, err := b.observe(ctx, service, b.config.Inventory.balancerAge())
	if err != nil || len(o.balancers) == 0 || (serves(service, o.balancers[0]) && !o.balancers[0].Deleting()) {
		return o, err
	}
	o.balancers, err = b.balancersOf(ctx, service, b.fresh())
	return o, err
}

// observe returns everything of the Service in the cloud, from lists at most maxAge old.
func (b *balancers) observe(ctx context.Context, service *corev1.Service, maxAge time.Duration) (observed, error) {
	balancers, err := b.balancersOf(ctx, service, maxAge)
	if err != nil {
		return observed{}, err
	}
	expected := 0
	if served(service) {
		expected = len(service.Spec.Ports)
	}
	groups, err := b.inventory.TargetGroupsOf(ctx, string(service.UID), maxAge, expected)
	if err != nil {
		return observed{}, err
	}
	slices.SortFunc(groups, func(x, y inventory.TargetGroup) int { return cmp.Compare(x.ID, y.ID) })
	o := observed{balancers: balancers, groups: groups}
	if !o.empty() {
		b.inventory.Seen(string(service.UID))
	}
	return o, nil
}

// balancersOf returns the Service's load balancers, the oldest first, from a list at most maxAge old.
func (b *balancers) balancersOf(ctx context.Context, service *corev1.Service, maxAge time.Duration) ([]inventory.LoadBalancer, error) {
	expected := 0
	if served(service) {
		expected = 1
	}
	balancers, err := b.inventory.LoadBalancersOf(ctx, string(service.UID), maxAge, expected)
	slices.SortFunc(balancers, func(x, y inventory.LoadBalancer) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return balancers, err
}

// served says that the Service has had a load balancer with an address, whatever the first list of a process shows.
func served(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

// fresh is the age of answers to "is it ready, or gone, yet?".
func (b *balancers) fresh() time.Duration { return b.config.LoadBalancer.pollInterval() / 2 }

// explain makes the audit log say for which Service and why each write of a plan was made.
func (b *balancers) explain(service *corev1.Service, plan loadbalancer.Plan) {
	for i, operation := range plan {
		do, cause := operation.Do, fmt.Sprintf("Service %s: %s", klog.KObj(service), operation)
		plan[i].Do = func(ctx context.Context) error { return do(client.WithCause(ctx, cause)) }
	}
}
