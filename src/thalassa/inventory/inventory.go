// Package inventory is what is known of the cloud: machines, load balancers, target groups and the VPC, each read as
// one list and shared by everybody, so that no code path costs a call per node or per Service. Security groups,
// reserved IPs, route tables and quotas are read in the same way, but only when somebody asks: not every cluster needs
// them, and not all credentials have the right to.
//
// Readers say how old an answer may be. An answer without the object means "it was not there", an error means "not
// known"; nobody may take the second for the first.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// How old answers may be.
const (
	// MachineAge bounds what nodes are told about their machines.
	MachineAge = time.Minute
	// BalancerAge bounds what an unchanged Service is compared with.
	BalancerAge = 5 * time.Minute
	// absentMemory bounds how long a missing machine is remembered without a list that shows it missing again: longer
	// than the pauses between lists usually are.
	absentMemory = time.Hour
	// doubtMemory is longer than any list is used.
	doubtMemory = visibleAfter + time.Hour
	// vpcAge bounds the VPC: region and subnets hardly ever change.
	vpcAge = time.Hour
)

// Inventory is the shared knowledge about one VPC. It is safe for concurrent use.
type Inventory struct {
	cloud     *client.Client
	vpc       string
	machines  *kind[Machine]
	balancers *kind[LoadBalancer]
	groups    *kind[TargetGroup]
	vpcs      *kind[VPC]
	quotas    *kind[Quota]
	routing   *kind[routing]

	securityGroups securityGroups
	reservedIPs    lookup[ReservedIP]
	machineTypes   lookup[MachineType]

	// machines, by identity, that were missing in a list that began after they were first missed, and in all since
	absent   *recent
	doubts   *recent // owners for whom a creation ended without an answer
	seen     *recent // owners of whom lists have shown something
	complete complete
	// unanswered are machines that lists lack and that could not be asked for.
	unanswered  *recent
	lookFailure failure // of the latest list that was wanted for a machine
	typeFailure failure // of the latest list of machine types
	patience    *patience
	elsewhere   *elsewhere
	prefixes    []string // of the labels of machines that are kept
	confirming  turns    // to ask for a machine that lists lack
	owned       Labels   // of load balancers and target groups of this cluster
	owner       string   // label whose value identifies the owner of a load balancer or target group
}

// Scope says which objects are read.
type Scope struct {
	VPC string // identity
	// Owned are the labels that all load balancers and target groups of this cluster carry.
	Owned Labels
	// OwnerLabel is the label whose value identifies one owner among them.
	OwnerLabel string
	// MachineLabels are how the keys of those labels of machines begin that are wanted; of others none is kept.
	MachineLabels []string
}

// New returns an empty inventory. It makes no call.
func New(cloud *client.Client, scope Scope) *Inventory {
	i := &Inventory{cloud: cloud, vpc: scope.VPC, owner: scope.OwnerLabel, absent: newRecent(absentMemory),
		doubts: newRecent(doubtMemory), seen: newRecent(doubtMemory), unanswered: newRecent(unanswered)}
	i.machines = newKind("machines", i.listMachines, func(m Machine) string { return m.ID }, Machine.keys)
	i.machines.present = i.absent.forget
	i.patience, i.elsewhere, i.prefixes = newPatience(), newElsewhere(), scope.MachineLabels
	i.owned = scope.Owned
	i.balancers = newKind("load balancers", i.listLoadBalancers, func(lb LoadBalancer) string {
		return lb.ID
	}, i.balancerKeys)
	i.balancers.leaving, i.balancers.ask = LoadBalancer.Deleting, i.getLoadBalancer
	i.groups = newKind("target groups", i.listTargetGroups, func(g TargetGroup) string { return g.ID }, i.groupKeys)
	i.groups.ask = i.getTargetGroup
	i.securityGroups, i.reservedIPs, i.quotas = i.newSecurityGroups(), i.newReservedIPs(), i.newQuotas()
	i.machineTypes = i.newMachineTypes()
	i.routing = i.newRouting()
	i.vpcs = newKind("VPC "+scope.VPC, i.getVPC, func(v VPC) string { return v.ID }, func(VPC) []string { return nil })
	return i
}

// Refresh reads machines, load balancers and target groups anew, each in one list. Security groups and reserved IPs are
// read anew by the next who asks for one.
func (i *Inventory) Refresh(ctx context.Context) error {
	i.securityGroups.kind.distrust()
	i.reservedIPs.kind.distrust()
	return errors.Join(i.machines.refresh(ctx, Anew), i.balancers.refresh(ctx, Anew), i.groups.refresh(ctx, Anew))
}

func ownerKey(owner string) string { return "owner/" + owner }

// MachineByID returns the machine with that identity; found is false when the list has none. The answer is at most
// maxAge old; "not found" comes from a list of the last seconds, and from ever older ones the longer it is missing.
func (i *Inventory) MachineByID(ctx context.Context, id string,
	maxAge time.Duration) (m Machine, found bool, err error) {
	machines, err := i.machinesBy(ctx, id, maxAge)
	if err != nil || len(machines) == 0 {
		return Machine{}, false, err
	}
	return machines[0], true, nil
}

// MachinesListedSince returns once machines are looked up in a list that began at or after a time, so that none is
// found which was gone before; the zero time is any. However many wait for that, they make one list a second at most.
func (i *Inventory) MachinesListedSince(ctx context.Context, notBefore time.Time) error {
	return i.machines.since(ctx, notBefore, newcomerInterval)
}

// MachinesBySlug returns all machines of the VPC with that slug, in the same way; more than one is for the caller to
// refuse.
func (i *Inventory) MachinesBySlug(ctx context.Context, slug string, maxAge time.Duration) ([]Machine, error) {
	return i.machinesBy(ctx, slugKey(slug), maxAge)
}

func (i *Inventory) machinesBy(ctx context.Context, key string, maxAge time.Duration) ([]Machine, error) {
	machines, err := i.machines.find(ctx, key, maxAge)
	if err == nil && len(machines) == 0 {
		machines, err = i.machines.find(ctx, key, i.patience.of(key)) // the machine may be new
	}
	if err == nil {
		i.patience.note(key, len(machines) > 0)
	}
	return machines, err
}

// LoadBalancersOf returns all load balancers of the owner, from a list at most maxAge old. So many are expected: what a
// list showed before and lacks now is asked for, and what the first list of all lacks is listed once more.
func (i *Inventory) LoadBalancersOf(ctx context.Context, owner string, maxAge time.Duration,
	expected int) ([]LoadBalancer, error) {
	return i.balancers.findExpected(ctx, ownerKey(owner), i.certain(owner, maxAge), expected)
}

// TargetGroupsOf returns all target groups of the owner, from a list at most maxAge old, in the same way.
func (i *Inventory) TargetGroupsOf(ctx context.Context, owner string, maxAge time.Duration,
	expected int) ([]TargetGroup, error) {
	return i.groups.findExpected(ctx, ownerKey(owner), i.certain(owner, maxAge), expected)
}

// All returns all load balancers, target groups and security groups of this cluster, from lists at most maxAge old.
// Security groups are listed only while they are in use.
func (i *Inventory) All(ctx context.Context,
	maxAge time.Duration) ([]LoadBalancer, []TargetGroup, []SecurityGroup, error) {
	balancers, err := i.balancers.all(ctx, maxAge)
	if err != nil {
		return nil, nil, nil, err
	}
	groups, err := i.groups.all(ctx, maxAge)
	if err != nil {
		return nil, nil, nil, err
	}
	balancers = slices.DeleteFunc(balancers, func(lb LoadBalancer) bool { return !HasLabels(lb.Labels, i.owned) })
	groups = slices.DeleteFunc(groups, func(g TargetGroup) bool { return !HasLabels(g.Labels, i.owned) })
	securityGroups, err := i.ourSecurityGroups(ctx, maxAge, balancers)
	return balancers, groups, securityGroups, err
}

func (i *Inventory) listMachines(ctx context.Context) ([]Machine, error) {
	asked := []filters.Filter{i.inVPC()} // a server may ignore a filter, so it is applied here again
	if len(i.prefixes) == 0 {
		return client.List(ctx, i.cloud, iaas.MachineEndpoint, asked, i.machineHere)
	}
	return client.List(ctx, i.cloud, iaas.MachineEndpoint, asked, i.labelledHere)
}

// getMachine reads one machine as lists show it; exists is false when it is not in the VPC, or gone.
func (i *Inventory) getMachine(ctx context.Context, id string) (machine Machine, exists bool, err error) {
	if len(i.prefixes) == 0 {
		return getOne(ctx, i.cloud, iaas.MachineEndpoint, id, i.machineHere)
	}
	return getOne(ctx, i.cloud, iaas.MachineEndpoint, id, i.labelledHere)
}

func (i *Inventory) listLoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	return client.List(ctx, i.cloud, iaas.LoadbalancerEndpoint, []filters.Filter{i.inVPC()}, i.loadBalancerHere)
}

func (i *Inventory) getLoadBalancer(ctx context.Context, id string) (LoadBalancer, bool, error) {
	return getOne(ctx, i.cloud, iaas.LoadbalancerEndpoint, id, i.loadBalancerHere)
}

// loadBalancerHere says whether it is in the VPC, and there. Load balancers of others are kept, too: one that lost its
// labels is found among them.
func (i *Inventory) loadBalancerHere(lb balancerItem) (LoadBalancer, bool) {
	balancer := lb.object()
	return balancer, lb.VPC.Identity == i.vpc && !balancer.gone()
}

func (i *Inventory) listTargetGroups(ctx context.Context) ([]TargetGroup, error) {
	reading := groupReader{ours: i.targetGroupHere, names: map[string]string{}}
	return client.Stream(ctx, i.cloud, iaas.TargetGroupEndpoint, []filters.Filter{i.inVPC()}, reading.read)
}

func (i *Inventory) getTargetGroup(ctx context.Context, id string) (TargetGroup, bool, error) {
	return getOne(ctx, i.cloud, iaas.TargetGroupEndpoint, id, i.targetGroupHere)
}

// targetGroupHere says whether it is in the VPC, and no label says that it is another cluster's.
func (i *Inventory) targetGroupHere(g groupItem) (TargetGroup, bool) {
	return g.object(), g.VPC.Identity == i.vpc && !i.ofOthers(g.Labels)
}

// getOne reads the object with that identity in a collection; exists is false when there is none, or none that is ours.
func getOne[Item interface{ identity() string }, T any](ctx context.Context, cloud *client.Client, collection,
	id string, ours func(Item) (T, bool)) (object T, exists bool, err error) {
	item, err := client.Get[Item](ctx, cloud, collection+"/"+id)
	switch {
	case isGone(err):
		return object, false, nil
	case err != nil:
		return object, false, err
	case item.identity() != id:
		return object, false, fmt.Errorf("reading %s/%s: %w: the answer contains another object, or none; it is "+
			"retried automatically; if the problem persists, ask the cloud's support", collection, id,
			client.ErrMalformed)
	}
	object, exists = ours(item)
	return object, exists, nil
}

// inVPC is all that is asked for: labels are looked at here. Whether the cloud's own filter by labels shows at once
// what was just made is not known, and what it hides would be made again, or leaked.
func (i *Inventory) inVPC() filters.Filter {
	return &filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: i.vpc}
}

// mayHave says that an object of this VPC was asked for, and is not known to be of another one: it need not show its
// VPC.
func (i *Inventory) mayHave(shown reference) bool {
	return shown.Identity == "" || shown.Identity == i.vpc
}

// uncertain passes the error of a write on. When the write may have happened, or the copies are wrong about the object,
// they are not trusted any more.
func (i *Inventory) uncertain(err error) error {
	if doubtful(err) {
		i.balancers.distrust()
		i.groups.distrust()
	}
	return err
}

// doubtful says that a write which ended with err may have happened, or that the copies are wrong about its object.
func doubtful(err error) bool {
	return client.Uncertain(err) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrConflict)
}
