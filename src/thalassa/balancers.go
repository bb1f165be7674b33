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
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// balancers compares what Services should have with what is in the cloud. What it remembers of a Service is in the
// inventory.
type balancers struct {
	config    Config
	inventory *inventory.Inventory
	// annotations are read with the cluster's defaults, legacy with those of the existing CCM, which hold for what it
	// has made.
	annotations, legacy annotations
	planner             planner
	executor            *executor
}

var _ cloud.LoadBalancers = (*balancers)(nil)

func newBalancers(c Config, known *inventory.Inventory) *balancers {
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
		return nil, nil // almost always
	}
	values, _ := b.annotations.registry.Parse(service.Annotations, annotationPorts(service))
	switch selector := b.annotations.nodeSelector.From(values); {
	case selector.Invalid:
		return nil, fmt.Errorf("annotation %s%s cannot be read", annotationPrefix, nameNodeSelector)
	case selector.Value == nil || selector.Value.Empty():
		return nil, nil
	default:
		return selector.Value, nil
	}
}

// Diff implements cloud.LoadBalancers.
func (b *balancers) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets) (cloud.Comparison, error) {
	o, err := b.observeSteady(ctx, service)
	if err != nil {
		return cloud.Comparison{}, err
	}
	d, notices, err := b.desire(ctx, service, targets, o)
	if err != nil {
		return cloud.Comparison{}, err
	}
	if o, err = b.behind(ctx, d, o); err != nil {
		return cloud.Comparison{}, err
	}
	found := cloud.Comparison{
		Machines: d.Targets.Identities, LeftOut: len(d.Targets.Identities)+
			len(d.Targets.Joining) < len(targets.Machines()), Exists: !o.empty(),
	}
	managed, notices := b.open(&d, o, notices, &found)
	found.LeftOut = found.LeftOut || d.missing != nil // it may be made, or given up, in the cloud
	found.Notices = append(notices, b.planner.removals.kept(d, o)...)
	if balancer := o.balancer(); balancer != nil {
		b.compareWith(service, *balancer, d, o, managed, &found)
	} else {
		b.compareWithNone(ctx, service, d, o, managed, &found)
	}
	return found, nil
}

// open decides which ports are opened, and with which security group.
func (b *balancers) open(d *desired, o observed, notices []cloud.Notice,
	found *cloud.Comparison) (*managedGroup, []cloud.Notice) {
	all := d.Ports
	d.closed = closing(*d, o)
	d.Ports, found.Refused = d.openable(o)
	managed, err := newManagedGroup(*d, o)
	if errors.Is(err, errPings) {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"The security group of the Service: %v. Name fewer networks in %ssecurity-group-icmp-allowed-sources; "+
				"the ports are not concerned.", err, annotationPrefix)))
	} else if err != nil {
		reason := reasonGroupFull
		if errors.Is(err, errRulePort) {
			reason = reasonUnsupported
		}
		notices = append(notices, settingNotice(reason, err.Error()))
		d.closed, d.Ports = append(d.closed, err.Error()), all
		d.Ports, found.Refused = d.openable(o)
	}
	if !b.planner.newNodeRules(*d, o).fits() {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"Security group %s has no room for the rules of all node ports of this Service: nodes cannot be reached "+
				"on some of them. Open the range of node ports in it by one rule, and set %sopen-node-ports to false.",
			d.nodeGroup.Name, annotationPrefix)))
	}
	found.Refused = errors.Join(found.Refused, d.failed)
	return managed, notices
}

// compareWith completes a comparison for a Service that has a load balancer.
func (b *balancers) compareWith(service *corev1.Service, balancer inventory.LoadBalancer, d desired, o observed,
	managed *managedGroup, found *cloud.Comparison) {
	found.State, found.Status, found.Health = balancer.Status, d.statusOf(service, balancer), healthUnknown
	if balancer.Deleting() {
		found.Refused = nil
		found.Wait = &cloud.Wait{Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status,
			Deleting: true, Slow: true,
			Message: fmt.Sprintf("load balancer %s is being deleted; a new one is created when it is deleted",
				balancer.Name)}
		return
	}
	found.Plan = b.planner.plan(d, o, managed)
	found.Notices = append(append(found.Notices, o.like.notices(balancer, d.labels)...),
		d.lacking(service, balancer)...)
	if asked := d.annotations.adopt.From(d.values).Value; asked != "" && asked != balancer.ID {
		found.Notices = append(found.Notices, settingNotice(reasonImmutable, fmt.Sprintf(
			"Annotation %sadopt names %s, but this Service already has load balancer %s, which it keeps. To use the "+
				"other one, delete the Service and create it again.", annotationPrefix, asked, balancer.ID)))
	}
	if !serves(reachedInside(service, d.internal.Value, balancer), balancer) {
		found.Wait = waitFor(balancer)
	}
}

// compareWithNone completes a comparison for a Service that has no load balancer.
func (b *balancers) compareWithNone(ctx context.Context, service *corev1.Service, d desired, o observed,
	managed *managedGroup, found *cloud.Comparison) {
	adopts := d.annotations.adopt.From(d.values)
	if adopts.Invalid {
		d.missing = errors.Join(d.missing, fmt.Errorf("annotation %sadopt cannot be read", annotationPrefix))
	}
	if d.failed == nil && d.missing != nil {
		found.Refused = cloud.AlreadyReported(d.missing)
	}
	if d.failed != nil || d.missing != nil || len(d.Ports) == 0 {
		found.Refused = cmp.Or(found.Refused, noPort(service, d))
		return
	}
	if uncertain := o.like.refusal(d.labels); uncertain != nil && adopts.Value == "" {
		found.Notices = append(found.Notices, settingNotice(reasonUncertain, sentence(uncertain.Error())))
		found.Refused, found.Exists, found.Plan = cloud.AlreadyReported(uncertain), true, b.planner.retarget(d, o)
		return
	}
	b.inherit(service)
	if within := b.inventory.Doubtful(string(service.UID)); within > 0 {
		found.Exists = true
		found.Wait = doubt(within, "a load balancer may have been created for this Service recently, by a creation "+
			"without an answer or by the previous leader; the cloud shows within a minute whether it exists")
		return
	}
	if adopts.Value == "" {
		found.Plan = b.planner.plan(d, o, managed)
		return
	}
	var balancer inventory.LoadBalancer
	if balancer, found.Refused = b.adopt(ctx, d, adopts.Value); found.Refused == nil {
		found.Exists, found.Plan = true, b.planner.adoption(d, balancer)
	}
}

// noPort is why a Service none of whose ports is opened has no load balancer; notices say the reason for each port.
func noPort(service *corev1.Service, d desired) error {
	err := cloud.AlreadyReported(errors.New("no port of the Service can be opened"))
	if len(d.Unserved) == len(service.Spec.Ports) {
		return cloud.UntilChanged(err) // because of its node ports and protocols
	}
	return err
}

// inherit is for a Service of which lists show nothing, although its finalizer says that there may be something.
func (b *balancers) inherit(service *corev1.Service) {
	if helpers.HasLBFinalizer(service) {
		b.inventory.Inherit(string(service.UID))
	}
}

// doubt is waiting for the cloud's lists to show whether something was made.
func doubt(within time.Duration, message string) *cloud.Wait {
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
	all, groups, securityGroups, err := b.inventory.All(ctx, b.config.Inventory.balancerAge())
	if err != nil {
		return nil, err
	}
	owned := make([]cloud.ManagedObject, 0, len(all)+len(groups)+len(securityGroups))
	for _, balancer := range all {
		one := owner(balancer.Labels, kindBalancer, balancer.Name, balancer.ID, balancer.Status)
		one.Retained = tracesOf(balancer.Annotations).has(settingKeep)
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

// owner says which Service an object with these labels belongs to.
func owner(labels inventory.Labels, kind, name, identity, state string) cloud.ManagedObject {
	return cloud.ManagedObject{
		Service: types.NamespacedName{Namespace: labels[labelNamespace], Name: labels[labelName]},
		UID:     types.UID(labels[labelUID]),
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

// observeSteady returns everything of the Service in the cloud. What is known may be older than the interval of looking
// again, and while a load balancer does not serve it is time to look.
func (b *balancers) observeSteady(ctx context.Context, service *corev1.Service) (observed, error) {
	o, err := b.observe(ctx, service, b.config.Inventory.balancerAge(), false)
	if err != nil || len(o.balancers) == 0 || (serves(reachedInside(service, asksInternal(service), o.balancers[0]),
		o.balancers[0]) && !o.balancers[0].Deleting()) {
		return o, err
	}
	o.balancers, o.like, err = b.balancersOf(ctx, service, b.fresh(), false)
	return o, err
}

// observe returns everything of the Service in the cloud, from lists at most maxAge old. Ending says that the Service
// is to have nothing.
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
	o := observed{balancers: balancers, groups: groups, like: like}
	unlabelled, err := b.groupsWithoutLabels(ctx, service, o)
	if err != nil {
		return observed{}, err
	}
	o.groups = append(o.groups, unlabelled...)
	slices.SortFunc(o.groups, func(x, y inventory.TargetGroup) int { return cmp.Compare(x.ID, y.ID) })
	made := ending || b.hasSecurityGroup(service, o.balancer())
	if made || o.unfinished() {
		err := b.observeSecurityGroups(ctx, service, &o, maxAge)
		if err != nil && (made || !errors.Is(err, client.ErrUnauthorised)) {
			o.unread = err
		}
	}
	if !o.empty() {
		b.inventory.Seen(string(service.UID))
	}
	return o, nil
}

// observeSecurityGroups adds the Service's security groups to what it has.
func (b *balancers) observeSecurityGroups(
	ctx context.Context, service *corev1.Service, o *observed, maxAge time.Duration,
) (err error) {
	if o.securityGroups, err = b.inventory.SecurityGroupsOf(ctx, string(service.UID), maxAge); err != nil {
		return err
	}
	var unlabelled []inventory.SecurityGroup
	unlabelled, o.unproven, err = b.securityGroupsWithoutLabels(ctx, service, *o)
	o.securityGroups = append(o.securityGroups, unlabelled...)
	slices.SortFunc(o.securityGroups, func(x, y inventory.SecurityGroup) int { return cmp.Compare(x.ID, y.ID) })
	return err
}

// hasSecurityGroup says whether there may be a security group that was made for the Service. Only then are they listed:
// credentials need not be allowed to see any.
func (b *balancers) hasSecurityGroup(service *corev1.Service, balancer *inventory.LoadBalancer) bool {
	_, asked := service.Annotations[annotationPrefix+nameCreateGroup]
	if asked || b.config.LoadBalancer.Defaults[nameCreateGroup] != "" {
		return true
	}
	return balancer != nil && tracesOf(balancer.Annotations).has(settingOwnGroup)
}

// unfinished says that a creation of the load balancer was begun, and none is there: a security group may have been
// made for it that the Service does not ask for any more.
func (o observed) unfinished() bool { return o.balancer() == nil && len(o.groups) > 0 }

// asksInternal is what the existing CCM reads, for load balancers that it made.
func asksInternal(service *corev1.Service) bool {
	internal, _ := strconv.ParseBool(strings.TrimSpace(service.Annotations[annotationPrefix+nameInternal]))
	return internal || service.Annotations[annotationPrefix+nameType] == typeInternal
}

// balancersOf returns the Service's load balancers, the oldest first, from a list at most maxAge old, and what looks
// like one. Ending says that the Service is to have none: then all that are certainly the Service's count.
func (b *balancers) balancersOf(ctx context.Context, service *corev1.Service, maxAge time.Duration,
	ending bool) ([]inventory.LoadBalancer, recognition, error) {
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
		balancers = like.adopted(owned)
	}
	slices.SortFunc(balancers, func(x, y inventory.LoadBalancer) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return balancers, like, nil
}

// served says that the Service has had a load balancer with an address, whatever the first list of a process shows.
func served(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

// fresh is the age of answers to "is it ready, or gone, yet?".
func (b *balancers) fresh() time.Duration { return b.config.LoadBalancer.pollInterval() / 2 }
