package state

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// pools are where the addresses of the load balancer come from. Those of an internal one can be of another subnet,
// because it keeps them when it moves.
func (lb *Loadbalancer) pools(addresses []netip.Addr) []*address.Pool {
	if !lb.Internal {
		return lb.home().Public
	}
	for _, s := range lb.Subnet.VPC.Subnets {
		if len(addresses) > 0 && s.spans(addresses) {
			return s.Pools
		}
	}
	return lb.Subnet.Pools
}

func (o *Organisation) seedListener(lb *Loadbalancer, in *seed.Listener, now time.Time) error {
	g, err := required(&o.TargetGroups, "targetGroup", "target group", in.TargetGroup)
	if err != nil {
		return err
	}
	if err := errors.Join(checkPort("port", in.Port), checkProtocol(in.Protocol)); err != nil {
		return err
	}
	taken := func(slug string) bool {
		return slices.ContainsFunc(lb.Listeners, func(l *Listener) bool { return l.Slug == slug })
	}
	o.AddListener(&Listener{LB: lb, Group: g, Port: in.Port, Protocol: in.Protocol, MaxConnections: in.MaxConnections,
		IdleTimeout: in.IdleTimeout, AllowedSources: in.AllowedSources, Record: recorded("lbl", in.Object, taken, now)})
	return nil
}

func (o *Organisation) seedFilesystem(in *seed.Filesystem, now time.Time) error {
	home, err := required(&o.Subnets, "subnet", "subnet", in.Subnet)
	if err != nil {
		return err
	}
	groups, err := o.SecurityGroupsIn(home.VPC, in.SecurityGroups)
	if err != nil {
		return err
	}
	f := &Filesystem{Subnet: home, Size: in.Size, DeleteProtection: in.DeleteProtection,
		Endpoint: cmp.Or(in.Endpoint, object.NewIdentity("ep")),
		Record:   recorded("tfs", in.Object, o.Filesystems.HasSlug, now)}
	if f.Size < 1 {
		return fmt.Errorf("field \"size\" must be at least 1 GB, not %d", f.Size)
	}
	if f.Addresses, err = home.assign(in.Addresses); err != nil {
		return fmt.Errorf("field \"addresses\": %w", err)
	}
	home.Users.Add("TFS instance", f.Identity)
	f.SecurityGroups = Reattach("TFS instance", f.Identity, nil, groups)
	return object.Insert(&o.Filesystems, f)
}

// storage are the volumes and snapshots of a seed by identity, also those that are gone.
type storage struct {
	volumes   object.Collection[*Volume]
	snapshots object.Collection[*VolumeSnapshot]
}

// seedVolumes adds volumes, snapshots and their policies. Volumes and snapshots refer to each other.
func (o *Organisation) seedVolumes(in *seed.Objects, now time.Time) error {
	var all storage
	return errors.Join(
		each("volume", in.Volumes, func(v *seed.Volume) *seed.Object { return &v.Object },
			func(v *seed.Volume) error { return o.seedVolume(&all, v, now) }),
		each("snapshot", in.Snapshots, func(s *seed.Snapshot) *seed.Object { return &s.Object },
			func(s *seed.Snapshot) error { return o.seedSnapshot(&all, s, now) }),
		each("volume", in.Volumes, func(v *seed.Volume) *seed.Object { return &v.Object },
			func(v *seed.Volume) (err error) {
				if made, found := all.volumes.Exact(v.Identity); v.RestoredFrom != "" && found {
					made.RestoredFrom, err = required(&all.snapshots, "restoredFrom", "snapshot", v.RestoredFrom)
				}
				return err
			}),
		each("snapshot policy", in.SnapshotPolicies, func(p *seed.SnapshotPolicy) *seed.Object { return &p.Object },
			func(p *seed.SnapshotPolicy) error { return o.seedSnapshotPolicy(p, now) }),
	)
}

func (o *Organisation) seedVolume(all *storage, in *seed.Volume, now time.Time) (err error) {
	in.Identity = cmp.Or(in.Identity, object.NewIdentity("v"))
	v := &Volume{Org: o, Size: in.Size, sizeBefore: in.SizeBefore, grownAt: in.GrownAt, Held: in.Held,
		DeleteProtection: in.DeleteProtection, Life: revived(in.Life),
		Record: recorded("v", in.Object, o.Volumes.HasSlug, now)}
	if v.Region, err = required(&o.Store.Regions, "region", "region", in.Region); err != nil {
		return err
	}
	if v.Type, err = o.Store.VolumeTypeFor("type", in.Type); err != nil {
		return err
	}
	if v.Image, err = o.Store.ImageFor(in.Image); err != nil {
		return err
	}
	if v.Size < 1 {
		return fmt.Errorf("field \"size\" must be at least 1 GB, not %d", v.Size)
	}
	if err := object.Insert(&all.volumes, v); err != nil || in.Gone {
		return err
	}
	o.Volumes.Add(v)
	if err := o.seedAttachment(v, in.Attachment, now); err != nil {
		return err
	}
	if in.Removed() {
		v.Depart()
	}
	return nil
}

func (o *Organisation) seedAttachment(v *Volume, in *seed.VolumeAttachment, now time.Time) error {
	if in == nil {
		return nil
	}
	m, err := required(&o.Machines, "attachment.machine", "machine", in.Machine)
	if err != nil {
		return err
	}
	a := &VolumeAttachment{Identity: cmp.Or(in.Identity, object.NewIdentity("va")), Description: in.Description,
		CreatedAt: in.CreatedAt, Machine: m, Root: in.Root, Existed: in.Existed, detaching: in.DetachingAt,
		detachedAt: in.DetachedAt}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = now
	}
	v.Attach(a, in.AttachedAt)
	return nil
}

func (o *Organisation) seedSnapshot(all *storage, in *seed.Snapshot, now time.Time) error {
	source, err := required(&all.volumes, "volume", "volume", in.Volume)
	if err != nil {
		return err
	}
	s := &VolumeSnapshot{Source: source, Size: cmp.Or(in.Size, source.Size), DeleteProtection: in.DeleteProtection,
		Held: in.Held, Life: revived(in.Life), Record: recorded("snap", in.Object, o.Snapshots.HasSlug, now)}
	if err := object.Insert(&all.snapshots, s); err != nil || in.Gone {
		return err
	}
	o.AddSnapshot(s)
	if in.Removed() {
		o.DepartSnapshot(s)
	}
	return nil
}

func (o *Organisation) seedSnapshotPolicy(in *seed.SnapshotPolicy, now time.Time) error {
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	return object.Insert(&o.SnapshotPolicies, &SnapshotPolicy{Org: o, Region: home, SnapshotPlan: in.Plan.Value,
		TTL: in.TTL, Record: recorded("sp", in.Object, o.SnapshotPolicies.HasSlug, now)})
}

// seedPeering connects two VPCs, which can be of different organisations.
func (o *Organisation) seedPeering(in *seed.Peering, now time.Time) error {
	p := &Peering{Status: cmp.Or(in.Status, PeeringPending), Message: in.Message, Routes: map[*RouteEntry]bool{}}
	if err := oneOf("status", p.Status, PeeringPending, PeeringActive, PeeringRejected); err != nil {
		return err
	}
	var err error
	if p.Requester, err = required(&o.VPCs, "requesterVpc", "VPC", in.Requester); err != nil {
		return err
	}
	for part := range o.Store.Spaces() {
		if found, ok := part.VPCs.Exact(in.Accepter); ok {
			p.Accepter = found
		}
	}
	if p.Accepter == nil {
		return fmt.Errorf("field \"accepterVpc\": VPC %q not found", in.Accepter)
	}
	p.Record = recorded("vpcpc", in.Object, func(slug string) bool {
		return p.Requester.Org.Peerings.HasSlug(slug) || p.Accepter.Org.Peerings.HasSlug(slug)
	}, now)
	for _, side := range []*VPC{p.Requester, p.Accepter} {
		side.Users.Add(PeeringKind, p.Identity)
	}
	if p.Accepter.Org != o {
		p.Accepter.Org.Peerings.Add(p)
	}
	return object.Insert(&o.Peerings, p)
}

// seedFirewallRule adds a rule to the firewall of the VPC.
func (v *VPC) seedFirewallRule(in *seed.FirewallRule, now time.Time) (err error) {
	r := &FirewallRule{VPC: v, Match: in.Match.Value, Record: recorded("fwr", in.Object, v.Firewall.HasSlug, now)}
	if err := checkFirewall(r.Match); err != nil {
		return err
	}
	if r.Inner, err = v.optionalSubnet("interface", &in.Interface); err != nil {
		return err
	}
	if r.Source, err = v.optionalSubnet("sourceSubnet", &in.SourceSubnet); err != nil {
		return err
	}
	if r.DestinationTo, err = v.optionalSubnet("destinationSubnet", &in.DestinationSubnet); err != nil {
		return err
	}
	return object.Insert(&v.Firewall, r)
}

// order sorts what a seed has in the VPCs and organisations that it belongs to, as it was made.
func (o *Organisation) order() {
	object.ByAge(&o.Subnets, func(s *Subnet) time.Time { return s.CreatedAt })
	object.ByAge(&o.RouteTables, func(t *RouteTable) time.Time { return t.CreatedAt })
	object.ByAge(&o.SecurityGroups, func(g *SecurityGroup) time.Time { return g.CreatedAt })
	object.ByAge(&o.Peerings, func(p *Peering) time.Time { return p.CreatedAt })
	for g := range o.TargetGroups.All() {
		slices.SortStableFunc(g.Listeners, func(a, b *Listener) int { return a.CreatedAt.Compare(b.CreatedAt) })
	}
}
