// Package inventory caches the objects of the cloud: machines, load balancers, target groups and the VPC. Each kind is
// read as one list that all controllers share, so that the number of calls does not depend on the number of nodes and
// Services. Security groups, reserved IPs, route tables and quotas are read in the same way, but only when they are
// needed: not every cluster needs them, and not all credentials have the permission.
//
// Callers specify how old an answer may be. An answer without an object means that the object did not exist; an error
// means that this is not known.
package inventory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// Fresh as an age accepts only a list that began after the call.
const Fresh = store.Fresh

// Maximum ages of answers.
const (
	// MachineAge is the maximum age of machines for nodes.
	MachineAge = time.Minute
	// BalancerAge is the maximum age of objects that a Service is compared with. It is twice the default period of
	// checks for drift, so that no Service waits for the list that such a check reads.
	BalancerAge = 10 * time.Minute
	// expectationTTL is longer than the age of any list that is used.
	expectationTTL = store.VisibilityDelay + time.Hour
	// vpcAge is the maximum age of the VPC: region and subnets rarely change.
	vpcAge = time.Hour
)

// Inventory contains the objects of one VPC. It is safe for concurrent use.
type Inventory struct {
	cloud     *client.Client
	vpc       string
	machines  *store.Store[Machine]
	balancers *store.Store[resource.LoadBalancer]
	groups    *store.Store[resource.TargetGroup]
	vpcs      *store.Store[resource.VPC]
	quotas    *store.Store[Quota]
	routing   *store.Store[routing]

	// latest are the latest answers to the lists that are read all the time.
	latest struct {
		machines  client.Latest[Machine]
		balancers client.Latest[resource.LoadBalancer]
		groups    client.Latest[resource.TargetGroup]
	}

	securityGroups     *store.Store[resource.SecurityGroup]
	securityGroupsUsed *store.TTLCache[time.Time] // contains "" while they are in use
	reservedIPs        *store.Store[resource.ReservedIP]
	machineTypes       *store.Store[MachineType]

	expectations       *store.TTLCache[time.Time]  // owner -> when a creation for it ended without an answer
	unansweredMachines *store.TTLCache[error]      // machines that lists lack, and why the requests for them failed
	pings              singleflight.Group          // of CheckAnswers
	otherVPCs          *store.TTLCache[machineVPC] // by key
	otherVPCLimit      *rate.Limiter

	prefixes []string        // of the labels of machines that are stored
	owned    resource.Labels // of load balancers and target groups of this cluster
	owner    string          // label whose value identifies the owner of a load balancer or target group
	uid      *cloud.ClusterUID
}

// Scope describes which objects are read.
type Scope struct {
	VPC string // identity
	// Owned are the labels that all load balancers and target groups of this cluster carry.
	Owned resource.Labels
	// OwnerLabel is the label whose value identifies one owner among them.
	OwnerLabel string
	// UID distinguishes objects of this cluster from those of another one with the same labels; nil does not.
	UID *cloud.ClusterUID
	// MachineLabels are the prefixes of the labels of machines that are stored; others are dropped.
	MachineLabels []string
}

// New returns an empty inventory. It sends no request.
func New(api *client.Client, scope Scope) *Inventory {
	i := &Inventory{cloud: api, vpc: scope.VPC, owned: scope.Owned, owner: scope.OwnerLabel,
		uid:                scope.UID,
		prefixes:           scope.MachineLabels,
		securityGroupsUsed: store.NewTTLCache[time.Time](securityGroupUse),
		expectations:       store.NewTTLCache[time.Time](expectationTTL),
		unansweredMachines: store.NewTTLCache[error](unansweredTTL),
		otherVPCs:          store.NewTTLCache[machineVPC](otherVPCTTL),
		otherVPCLimit:      rate.NewLimiter(rate.Every(otherVPCInterval), otherVPCBurst),
	}
	i.machines = store.New("machines", store.WithRefusals(store.RefusalTTL, i.listMachines),
		func(m Machine) string { return m.ID }, Machine.keys)
	i.machines.Get, i.machines.TrustsLists = i.getMachine, true
	i.balancers = store.New("load balancers", i.listLoadBalancers,
		func(lb resource.LoadBalancer) string { return lb.ID }, i.balancerKeys)
	i.balancers.Deleting, i.balancers.Get = resource.LoadBalancer.Deleting, i.getLoadBalancer
	i.groups = store.New("target groups", i.listTargetGroups, func(g resource.TargetGroup) string { return g.ID },
		i.groupKeys)
	i.groups.Get = i.getTargetGroup
	i.securityGroups, i.reservedIPs, i.quotas = i.newSecurityGroups(), i.newReservedIPs(), i.newQuotas()
	i.machineTypes = i.newMachineTypes()
	i.routing = i.newRouting()
	i.vpcs = store.New("VPC "+scope.VPC, i.getVPC, func(v resource.VPC) string { return v.ID },
		func(resource.VPC) []string { return nil })
	return i
}

// Ages returns when the present list of each kind began.
func (i *Inventory) Ages() store.Ages {
	return store.Ages{
		"machine": i.machines.CopyTime, "load balancer": i.balancers.CopyTime, "target group": i.groups.CopyTime,
		"VPC": i.vpcs.CopyTime, "security group": i.securityGroups.CopyTime, "reserved IP": i.reservedIPs.CopyTime,
		"machine type": i.machineTypes.CopyTime, "route table": i.routing.CopyTime,
	}
}

// Refresh reads machines, load balancers and target groups again, each in one list. Security groups and reserved IPs
// are read again when they are next needed.
func (i *Inventory) Refresh(ctx context.Context) error {
	i.securityGroups.Invalidate()
	i.reservedIPs.Invalidate()
	return errors.Join(i.machines.Refresh(ctx, Fresh), i.balancers.Refresh(ctx, Fresh), i.groups.Refresh(ctx, Fresh))
}

func ownerKey(owner string) string { return "owner/" + owner }

// LoadBalancersOf returns all load balancers of the owner, from a list at most maxAge old. expected is their number:
// objects that an earlier list contained are requested by identity, and if the first list lacks some, a second one is
// read.
func (i *Inventory) LoadBalancersOf(ctx context.Context, owner string, maxAge time.Duration,
	expected int) ([]resource.LoadBalancer, error) {
	return i.balancers.FindExpected(ctx, ownerKey(owner), i.maxAgeFor(owner, maxAge), expected)
}

// TargetGroupsOf returns all target groups of the owner, from a list at most maxAge old, in the same way. used are the
// identities of those that listeners of the owner use: if lists lack one, it is requested.
func (i *Inventory) TargetGroupsOf(ctx context.Context, owner string, maxAge time.Duration, expected int,
	used []string) ([]resource.TargetGroup, error) {
	found, err := i.groups.FindExpected(ctx, ownerKey(owner), i.maxAgeFor(owner, maxAge), expected)
	if err != nil {
		return nil, err
	}
	requested, err := i.groups.RequestMissing(ctx, used)
	if err != nil || !requested {
		return found, err
	}
	return i.groups.FindNow(ctx, ownerKey(owner))
}

// LoadBalancerByID requests the load balancer of the VPC with the identity, with or without labels of this cluster. It
// does not use the list.
func (i *Inventory) LoadBalancerByID(ctx context.Context, id string) (resource.LoadBalancer, bool, error) {
	return store.ByID(ctx, i.cloud, iaas.LoadbalancerEndpoint, id, i.loadBalancerInVPC)
}

// TargetGroupByID requests the target group of the VPC with the identity, in the same way.
func (i *Inventory) TargetGroupByID(ctx context.Context, id string) (resource.TargetGroup, bool, error) {
	return store.ByID(ctx, i.cloud, iaas.TargetGroupEndpoint, id, func(g groupItem) (resource.TargetGroup, bool) {
		group, _ := i.targetGroupInVPC(g)
		return group, g.VPC.Identity == i.vpc
	})
}

// All returns all load balancers, target groups and security groups of this cluster, from lists at most maxAge old.
// Security groups are listed only while they are in use.
func (i *Inventory) All(ctx context.Context,
	maxAge time.Duration) ([]resource.LoadBalancer, []resource.TargetGroup, []resource.SecurityGroup, error) {
	balancers, groups, err := i.labelledAs(ctx, maxAge, i.isOurs)
	if err != nil {
		return nil, nil, nil, err
	}
	securityGroups, err := i.ourSecurityGroups(ctx, maxAge, balancers)
	return balancers, groups, securityGroups, err
}

// isOurs reports whether an object has the labels of this cluster.
func (i *Inventory) isOurs(labels resource.Labels) bool { return resource.HasLabels(labels, i.owned) }

// labelledAs returns the load balancers and target groups with such labels, from lists at most maxAge old.
func (i *Inventory) labelledAs(ctx context.Context, maxAge time.Duration,
	such func(resource.Labels) bool) ([]resource.LoadBalancer, []resource.TargetGroup, error) {
	if err := i.balancers.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	if err := i.groups.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	return i.balancers.Where(func(lb resource.LoadBalancer) bool { return such(lb.Labels) }),
		i.groups.Where(func(g resource.TargetGroup) bool { return such(g.Labels) }), nil
}

func (i *Inventory) listLoadBalancers(ctx context.Context) ([]resource.LoadBalancer, error) {
	return client.Relist(ctx, i.cloud, &i.latest.balancers, iaas.LoadbalancerEndpoint, []filters.Filter{i.inVPC()},
		i.loadBalancerInVPC)
}

func (i *Inventory) getLoadBalancer(ctx context.Context, id string) (resource.LoadBalancer, bool, error) {
	return store.GetOne(ctx, i.cloud, iaas.LoadbalancerEndpoint, id, i.loadBalancerInVPC)
}

// loadBalancerInVPC reports whether it is in the VPC and exists. Load balancers of others are stored as well, because
// one that lost its labels is found among them.
func (i *Inventory) loadBalancerInVPC(lb balancerItem) (resource.LoadBalancer, bool) {
	balancer := lb.object()
	balancer.Labels = i.seen(balancer.Labels, balancer.Annotations)
	return balancer, lb.VPC.Identity == i.vpc && !gone(balancer.Status)
}

func (i *Inventory) listTargetGroups(ctx context.Context) ([]resource.TargetGroup, error) {
	sets := machineSets{names: map[string]string{}}
	return client.Relist(ctx, i.cloud, &i.latest.groups, iaas.TargetGroupEndpoint, []filters.Filter{i.inVPC()},
		func(g groupItem) (resource.TargetGroup, bool) {
			group, ours := i.targetGroupInVPC(g)
			group.Machines = sets.share(group.Machines)
			return group, ours
		})
}

// machineSets keeps one string for each machine of a list of target groups and, if groups have the same machines, one
// set of them: the API returns every attached machine in every group, a million for 1,000 groups with 1,000 machines.
type machineSets struct {
	names  map[string]string // each machine once
	latest []string          // the set of the latest group
}

// share returns a set that is equal to this one, which is sorted. Neither may be changed afterwards.
func (m *machineSets) share(set []string) []string {
	if slices.Equal(m.latest, set) {
		return m.latest
	}
	for at, name := range set {
		if _, known := m.names[name]; !known {
			m.names[name] = name
		}
		set[at] = m.names[name]
	}
	m.latest = slices.Clip(set)
	return m.latest
}

func (i *Inventory) getTargetGroup(ctx context.Context, id string) (resource.TargetGroup, bool, error) {
	return store.GetOne(ctx, i.cloud, iaas.TargetGroupEndpoint, id, i.targetGroupInVPC)
}

// targetGroupInVPC reports whether it is in the VPC, and has no label of a cluster with another key.
func (i *Inventory) targetGroupInVPC(g groupItem) (resource.TargetGroup, bool) {
	group := g.object()
	group.Labels = i.seen(group.Labels, group.Annotations)
	return group, g.VPC.Identity == i.vpc && !i.ofOtherCluster(g.Labels)
}

// inVPC is the only filter of requests; labels are filtered here. It is not documented when the cloud's filter by
// labels includes a new object, and an object that it omits would be created twice, or never deleted.
func (i *Inventory) inVPC() filters.Filter {
	return &filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: i.vpc}
}

// inVPCOrUnknown reports whether an object is in this VPC or does not contain its VPC.
func (i *Inventory) inVPCOrUnknown(shown reference) bool {
	return shown.Identity == "" || shown.Identity == i.vpc
}

// writeError returns the error of a write. If the write may have been carried out, or the stores contradict it, they
// are invalidated.
func (i *Inventory) writeError(err error) error {
	if store.MayHaveHappened(err) {
		i.balancers.Invalidate()
		i.groups.Invalidate()
	}
	return err
}
