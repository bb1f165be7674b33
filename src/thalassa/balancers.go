package thalassa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// balancers computes the difference between what Services should have and what exists in the cloud. State about a
// Service is in the inventory.
type balancers struct {
	config    cloudconfig.Config
	inventory *inventory.Inventory
	// annotations has the cluster's defaults. legacy has those of the existing CCM, which apply to load balancers that
	// it created.
	annotations, legacy annotations
	planner             planner
	executor            *executor
}

var _ cloud.LoadBalancers = (*balancers)(nil)

func newBalancers(c cloudconfig.Config, known *inventory.Inventory) *balancers {
	own := newAnnotations()
	own.registry.SetDefaults(c.LoadBalancer.Defaults)
	gone := &removals{}
	return &balancers{
		config: c, inventory: known, annotations: own, legacy: legacyAnnotations(),
		planner: planner{inventory: known, removals: gone}, executor: &executor{inventory: known, removals: gone},
	}
}

// Identify implements cloud.LoadBalancers.
func (b *balancers) Identify(node *corev1.Node) (identity string, ours bool) { return identify(node) }

// NodeSelector implements cloud.LoadBalancers.
func (b *balancers) NodeSelector(service *corev1.Service) (labels.Selector, error) {
	if !b.annotations.registry.Concerns(service.Annotations, nameNodeSelector) {
		return nil, nil // the usual case
	}
	values, _ := b.annotations.registry.Parse(service.Annotations, annotationPorts(service))
	switch selector := b.annotations.nodeSelector.From(values); {
	case selector.Invalid:
		return nil, fmt.Errorf("annotation %s%s cannot be read", label.AnnotationPrefix, nameNodeSelector)
	case selector.Value == nil || selector.Value.Empty():
		return nil, nil
	default:
		return selector.Value, nil
	}
}

// Diff implements cloud.LoadBalancers.
func (b *balancers) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets) (cloud.Comparison, error) {
	o, err := b.observeForDiff(ctx, service)
	if err != nil {
		return cloud.Comparison{}, err
	}
	d, notices, err := b.computeDesired(ctx, service, targets, o)
	if err != nil {
		return cloud.Comparison{}, err
	}
	if o, err = b.withAdoptedGroups(ctx, d, o); err != nil {
		return cloud.Comparison{}, err
	}
	found := cloud.Comparison{
		Machines: d.Targets.Identities, LeftOut: len(d.Targets.Identities)+
			len(d.Targets.Joining) < len(targets.Machines()), Exists: !o.empty(),
	}
	managed, notices := b.open(&d, o, notices, &found)
	found.LeftOut = found.LeftOut || d.missing != nil // the missing object may be created or detached in the cloud
	found.Notices = append(notices, b.planner.removals.notices(d, o)...)
	if balancer := o.balancer(); balancer != nil {
		b.compareWith(service, *balancer, d, o, managed, &found)
	} else {
		b.compareWithNone(ctx, service, d, o, managed, &found)
	}
	return found, nil
}

// open determines which ports are opened, and with which security group.
func (b *balancers) open(d *desired, o observed, notices []cloud.Notice,
	found *cloud.Comparison) (*managedGroup, []cloud.Notice) {
	all := d.Ports
	d.blocked = blockedReasons(*d, o)
	d.Ports, found.Refused = d.openablePorts(o)
	managed, err := newManagedGroup(*d, o)
	if errors.Is(err, errPings) {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"The security group of the Service: %v. Name fewer networks in %ssecurity-group-icmp-allowed-sources; "+
				"the ports are not concerned.", err, label.AnnotationPrefix)))
	} else if err != nil {
		reason := reasonGroupFull
		if errors.Is(err, errRulePort) {
			reason = reasonUnsupported
		}
		notices = append(notices, settingNotice(reason, err.Error()))
		d.blocked, d.Ports = append(d.blocked, err.Error()), all
		d.Ports, found.Refused = d.openablePorts(o)
	}
	if !b.planner.newNodeRules(*d, o).fits() {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"Security group %s has no room for the rules of all node ports of this Service: nodes cannot be reached "+
				"on some of them. Open the range of node ports in it by one rule, and set %sopen-node-ports to false.",
			d.nodeGroup.Name, label.AnnotationPrefix)))
	}
	found.Refused = errors.Join(found.Refused, d.failed)
	return managed, notices
}

// compareWith completes a comparison for a Service that has a load balancer.
func (b *balancers) compareWith(service *corev1.Service, balancer resource.LoadBalancer, d desired, o observed,
	managed *managedGroup, found *cloud.Comparison) {
	found.State, found.Status, found.Health = balancer.Status, d.statusOf(service, balancer), healthUnknown
	if balancer.Deleting() {
		found.Refused = nil
		found.Wait = waitForDeletion(balancer)
		return
	}
	found.Plan = b.planner.plan(d, o, managed)
	found.Notices = append(append(found.Notices, o.recognised.notices(balancer, d.labels)...),
		d.unmetNotices(service, balancer)...)
	if asked := d.annotations.adopt.From(d.values).Value; asked != "" && asked != balancer.ID {
		found.Notices = append(found.Notices, settingNotice(reasonImmutable, fmt.Sprintf(
			"Annotation %sadopt names %s, but this Service already has load balancer %s, which it keeps. To use the "+
				"other one, delete the Service and create it again.", label.AnnotationPrefix, asked, balancer.ID)))
	}
	if !serves(usesInternalAddresses(service, d.internal.Value, balancer), balancer) {
		found.Wait = waitFor(balancer)
	}
}

// waitForDeletion is the wait for a load balancer in whose place another one is needed.
func waitForDeletion(balancer resource.LoadBalancer) *cloud.Wait {
	return &cloud.Wait{
		Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status,
		Deleting: true, Slow: true,
		Message: fmt.Sprintf("load balancer %s is being deleted; a new one is created when it is deleted",
			balancer.Name),
	}
}

// compareWithNone completes a comparison for a Service that has no load balancer.
func (b *balancers) compareWithNone(ctx context.Context, service *corev1.Service, d desired, o observed,
	managed *managedGroup, found *cloud.Comparison) {
	adopts := d.annotations.adopt.From(d.values)
	if adopts.Invalid {
		d.missing = errors.Join(d.missing, fmt.Errorf("annotation %sadopt cannot be read", label.AnnotationPrefix))
	}
	if d.failed == nil && d.missing != nil {
		found.Refused = cloud.AlreadyReported(d.missing)
	}
	if d.failed != nil || d.missing != nil || len(d.Ports) == 0 {
		found.Refused = cmp.Or(found.Refused, noPort(service, d))
		return
	}
	if uncertain := o.recognised.refusal(d.labels); uncertain != nil && adopts.Value == "" {
		found.Notices = append(found.Notices, settingNotice(reasonUncertain, sentence(uncertain.Error())))
		found.Refused, found.Exists, found.Plan = cloud.AlreadyReported(uncertain), true, b.planner.planMachines(d, o)
		return
	}
	b.expectFromPreviousLeader(service)
	if within := b.inventory.Expecting(string(service.UID)); within > 0 {
		found.Exists = true
		found.Wait = waitForLists(within,
			"a load balancer may have been created for this Service recently, by a creation "+
				"without an answer or by the previous leader; the cloud shows within a minute whether it exists")
		return
	}
	if adopts.Value == "" {
		found.Plan = b.planner.plan(d, o, managed)
		return
	}
	var balancer resource.LoadBalancer
	if balancer, found.Refused = b.adopt(ctx, d, adopts.Value); found.Refused == nil {
		found.Exists, found.Plan = true, b.planner.planAdoption(d, balancer)
	}
}

// noPort returns why a Service without any open port has no load balancer. Notices contain the reason for each port.
func noPort(service *corev1.Service, d desired) error {
	err := cloud.AlreadyReported(errors.New("no port of the Service can be opened"))
	if len(d.Unserved) == len(service.Spec.Ports) {
		return cloud.UntilChanged(err) // which depends on its node ports and protocols
	}
	return err
}

// expectFromPreviousLeader is called for a Service without objects in the lists. If it has the finalizer, the previous
// leader may have created objects recently.
func (b *balancers) expectFromPreviousLeader(service *corev1.Service) {
	if helpers.HasLBFinalizer(service) {
		b.inventory.ExpectFromPreviousLeader(string(service.UID))
	}
}

// waitForLists returns the wait until the cloud's lists must show a created object.
func waitForLists(within time.Duration, message string) *cloud.Wait {
	return &cloud.Wait{Name: "the outcome of a creation", Status: "unknown", Within: within, Message: message}
}

// Apply implements cloud.LoadBalancers.
func (b *balancers) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return b.executor.apply(ctx, service, plan)
}

// Refresh implements cloud.LoadBalancers.
func (b *balancers) Refresh(ctx context.Context) error { return b.inventory.Refresh(ctx) }

// ListManaged implements cloud.LoadBalancers.
func (b *balancers) ListManaged(ctx context.Context) ([]cloud.ManagedObject, error) {
	all, groups, securityGroups, err := b.inventory.All(ctx, b.config.Inventory.MaxBalancerAge())
	if err != nil {
		return nil, err
	}
	owned := make([]cloud.ManagedObject, 0, len(all)+len(groups)+len(securityGroups))
	for _, balancer := range all {
		one := owner(balancer.Labels, kindBalancer, balancer.Name, balancer.ID, balancer.Status)
		one.Retained = lastAppliedOf(balancer.Annotations).has(settingRetain)
		owned = append(owned, one)
	}
	owned = append(owned, b.unlabelled(groups)...)
	for _, group := range groups {
		owned = append(owned, owner(group.Labels, kindGroup, group.Name, group.ID, ""))
	}
	for _, group := range securityGroups {
		owned = append(owned, owner(group.Labels, kindSecurityGroup, group.Name, group.ID, group.Status))
	}
	return slices.DeleteFunc(owned, func(one cloud.ManagedObject) bool { return one.UID == "" }), nil
}

// owner returns the Service that an object with these labels belongs to.
func owner(labels resource.Labels, kind, name, identity, state string) cloud.ManagedObject {
	return cloud.ManagedObject{
		Service: types.NamespacedName{Namespace: labels[label.ServiceNamespace], Name: labels[label.ServiceName]},
		UID:     types.UID(labels[label.ServiceUID]),
		Kind:    kind, Name: name, Identity: identity, State: state,
	}
}

// ClassifyError implements cloud.LoadBalancers.
func (b *balancers) ClassifyError(err error) (passing bool, after time.Duration) {
	passing = errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) ||
		errors.Is(err, client.ErrMalformed) ||
		errors.Is(err, client.ErrShutdown) || errors.Is(err, context.Canceled)
	return passing, client.RetryAfter(err)
}

// observeForDiff returns all objects of the Service. Cached lists may be older than the poll interval, so newer ones
// are read while a load balancer is not ready.
func (b *balancers) observeForDiff(ctx context.Context, service *corev1.Service) (observed, error) {
	o, err := b.observe(ctx, service, b.config.Inventory.MaxBalancerAge(), false)
	if err != nil || len(o.balancers) == 0 ||
		(serves(usesInternalAddresses(service, asksInternal(service), o.balancers[0]),
			o.balancers[0]) && !o.balancers[0].Deleting()) {
		return o, err
	}
	o.balancers, o.recognised, err = b.balancersOf(ctx, service, b.fresh(), false)
	return o, err
}

// observe returns all objects of the Service, from lists at most maxAge old. With ending, the Service is to have none.
func (b *balancers) observe(ctx context.Context, service *corev1.Service, maxAge time.Duration,
	ending bool) (observed, error) {
	balancers, like, err := b.balancersOf(ctx, service, maxAge, ending)
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
	o := observed{balancers: balancers, groups: groups, recognised: like}
	unlabelled, err := b.groupsWithoutLabels(ctx, service, o)
	if err != nil {
		return observed{}, err
	}
	o.groups = append(o.groups, unlabelled...)
	slices.SortFunc(o.groups, func(x, y resource.TargetGroup) int { return cmp.Compare(x.ID, y.ID) })
	made := ending || b.hasSecurityGroup(service, o.balancer())
	if made || o.unfinished() {
		err := b.observeSecurityGroups(ctx, service, &o, maxAge)
		if err != nil && (made || !errors.Is(err, client.ErrUnauthorised)) {
			o.groupsError = err
		}
	}
	if !o.empty() {
		b.inventory.OwnerListed(string(service.UID))
	}
	return o, nil
}

// observeSecurityGroups adds the Service's security groups to o.
func (b *balancers) observeSecurityGroups(
	ctx context.Context, service *corev1.Service, o *observed, maxAge time.Duration,
) (err error) {
	expected := 0
	if hadOwnGroup(o.balancer()) {
		expected = 1
	}
	o.securityGroups, err = b.inventory.SecurityGroupsOf(ctx, string(service.UID), maxAge, expected)
	if err != nil {
		return err
	}
	var unlabelled []resource.SecurityGroup
	unlabelled, o.unprovenGroups, err = b.securityGroupsWithoutLabels(ctx, service, *o)
	o.securityGroups = append(o.securityGroups, unlabelled...)
	slices.SortFunc(o.securityGroups, func(x, y resource.SecurityGroup) int { return cmp.Compare(x.ID, y.ID) })
	return err
}

// hasSecurityGroup reports whether a security group may have been created for the Service. Only then are security
// groups listed, because credentials without permission to read them are allowed.
func (b *balancers) hasSecurityGroup(service *corev1.Service, balancer *resource.LoadBalancer) bool {
	_, asked := service.Annotations[label.AnnotationPrefix+nameCreateGroup]
	if asked || b.config.LoadBalancer.Defaults[nameCreateGroup] != "" {
		return true
	}
	return hadOwnGroup(balancer)
}

// hadOwnGroup reports whether the load balancer's record says that its Service has, or had, a security group of its
// own.
func hadOwnGroup(balancer *resource.LoadBalancer) bool {
	return balancer != nil && lastAppliedOf(balancer.Annotations).has(settingOwnGroup)
}

// unfinished reports whether the creation of a load balancer was interrupted. A security group that the Service does
// not ask for any more may have been created before.
func (o observed) unfinished() bool { return o.balancer() == nil && len(o.groups) > 0 }

// asksInternal reads the annotations as the existing CCM does, for load balancers that it created.
func asksInternal(service *corev1.Service) bool {
	internal, _ := strconv.ParseBool(strings.TrimSpace(service.Annotations[label.AnnotationPrefix+nameInternal]))
	return internal || service.Annotations[label.AnnotationPrefix+nameType] == typeInternal
}

// balancersOf returns the Service's load balancers, oldest first, from a list at most maxAge old, and possible matches.
// With ending, the Service is to have none: then all certain matches count.
func (b *balancers) balancersOf(ctx context.Context, service *corev1.Service, maxAge time.Duration,
	ending bool) ([]resource.LoadBalancer, recognition, error) {
	expected := 0
	if served(service) {
		expected = 1
	}
	owned, err := b.inventory.LoadBalancersOf(ctx, string(service.UID), maxAge, expected)
	if err != nil {
		return nil, recognition{}, err
	}
	like, err := b.recognise(ctx, service, len(owned) > 0)
	if err != nil {
		return nil, recognition{}, err
	}
	balancers := slices.Concat(owned, like.certain)
	if ending {
		like.certain = nil
	} else {
		balancers = like.withUnlabelled(owned)
	}
	slices.SortFunc(balancers, func(x, y resource.LoadBalancer) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return balancers, like, nil
}

// served reports whether the Service has had a load balancer with an address, whatever the first list of this process
// shows.
func served(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

// fresh is the maximum age of the answer while the program waits for a change in the cloud.
func (b *balancers) fresh() time.Duration { return b.config.LoadBalancer.PollInterval() / 2 }
