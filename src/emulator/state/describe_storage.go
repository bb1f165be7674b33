package state

import (
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// describe returns the addresses of its own, or the identity of the reserved IP.
func (a *Addressing) describe() (own []netip.Addr, reserved string) {
	if a.Reserved != nil {
		return nil, a.Reserved.Identity
	}
	return a.own, ""
}

func (g *TargetGroup) describe() seed.TargetGroup {
	out := seed.TargetGroup{Object: seed.Described(g.Meta), VPC: g.VPC.Identity, Port: g.Port, Protocol: g.Protocol,
		Policy: g.Policy, ProxyProtocol: g.ProxyProtocol, Selector: g.Selector,
		HealthCheck: seed.JSON[*wire.HealthCheck]{Value: g.Health}}
	for a := range g.Attachments.All() {
		if has(&g.VPC.Org.Machines, a.Machine) {
			out.Attachments = append(out.Attachments, seed.Attachment{Identity: a.Identity, CreatedAt: a.CreatedAt,
				Machine: a.Machine.Identity, Selected: a.Selected})
		}
	}
	return out
}

func (lb *Loadbalancer) describe() seed.LoadBalancer {
	out := seed.LoadBalancer{Object: seed.Described(lb.Meta), Life: lived(lb.Life, lb.Held), Subnet: lb.Subnet.Identity,
		Internal: lb.Internal, InstanceSize: lb.InstanceSize, DeleteProtection: lb.DeleteProtection,
		SecurityGroups: groupIdentities(lb.SecurityGroups), ChangingUntil: lb.ChangingUntil}
	out.Addresses, out.ReservedIP = lb.Addressing.describe()
	for _, l := range lb.Listeners {
		out.Listeners = append(out.Listeners, seed.Listener{Object: seed.Described(l.Meta), Port: l.Port,
			Protocol: l.Protocol, TargetGroup: l.Group.Identity, MaxConnections: l.MaxConnections,
			IdleTimeout: l.IdleTimeout, AllowedSources: l.AllowedSources})
	}
	return out
}

// describeVolumes adds volumes, snapshots and policies, also those volumes and snapshots that are not listed any more
// but that others name.
func (o *Organisation) describeVolumes(out *seed.Objects) {
	volumes, snapshots := slices.Collect(o.Volumes.All()), slices.Collect(o.Snapshots.All())
	for i, j := 0, 0; i < len(volumes) || j < len(snapshots); {
		if i < len(volumes) {
			if from := volumes[i].RestoredFrom; from != nil && !slices.Contains(snapshots, from) {
				snapshots = append(snapshots, from)
			}
			i++
			continue
		}
		if source := snapshots[j].Source; !slices.Contains(volumes, source) {
			volumes = append(volumes, source)
		}
		j++
	}
	for _, v := range volumes {
		out.Volumes = append(out.Volumes, o.describeVolume(v))
	}
	for _, s := range snapshots {
		out.Snapshots = append(out.Snapshots, seed.Snapshot{Object: seed.Described(s.Meta), Life: lived(s.Life, s.Held),
			Volume: s.Source.Identity, Size: s.Size, DeleteProtection: s.DeleteProtection, Gone: !has(&o.Snapshots, s)})
	}
	for p := range o.SnapshotPolicies.All() {
		out.SnapshotPolicies = append(out.SnapshotPolicies, seed.SnapshotPolicy{Object: seed.Described(p.Meta),
			Region: p.Region.Identity, Plan: seed.JSON[wire.SnapshotPlan]{Value: p.SnapshotPlan}, TTL: p.TTL})
	}
}

func (o *Organisation) describeVolume(v *Volume) seed.Volume {
	out := seed.Volume{Object: seed.Described(v.Meta), Life: lived(v.Life, v.Held), Region: v.Region.Identity,
		Type: v.Type.Identity, Size: v.Size, SizeBefore: v.sizeBefore, GrownAt: v.grownAt,
		DeleteProtection: v.DeleteProtection, Gone: !has(&o.Volumes, v)}
	if v.Image != nil {
		out.Image = v.Image.Identity
	}
	if v.RestoredFrom != nil {
		out.RestoredFrom = v.RestoredFrom.Identity
	}
	if a := v.latest; a != nil && has(&o.Machines, a.Machine) {
		out.Attachment = &seed.VolumeAttachment{Identity: a.Identity, Description: a.Description,
			CreatedAt: a.CreatedAt,
			Machine:   a.Machine.Identity, Root: a.Root, Existed: a.Existed, AttachedAt: a.attachedAt,
			DetachingAt: a.detaching, DetachedAt: a.detachedAt}
	}
	return out
}
