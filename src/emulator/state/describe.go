package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Describe is a seed with which a store has the same content. The store is locked. Package auth has the rest of the
// credentials.
func (s *Store) Describe() seed.Seed {
	var out seed.Seed
	for r := range s.Regions.All() {
		of := seed.Described(r.Meta)
		home := seed.Region{Identity: of.Identity, Name: of.Name, Details: of.Details,
			ZoneIdentities: map[string]string{}}
		for _, zone := range r.Zones {
			home.Zones = append(home.Zones, zone.Name)
			home.ZoneIdentities[zone.Name] = zone.Identity
		}
		for _, pool := range r.Public {
			home.PublicAddresses = append(home.PublicAddresses, pool.Prefix())
		}
		out.Regions = append(out.Regions, home)
	}
	for t := range s.MachineTypes.All() {
		out.MachineTypes = append(out.MachineTypes, seed.MachineType{Identity: t.Identity, Name: t.Name, VCPUs: t.VCPUs,
			RAMMb: t.RAMMb, DiskGb: t.DiskGb})
	}
	for i := range s.Images.All() {
		out.MachineImages = append(out.MachineImages, seed.MachineImage{Identity: i.Identity, Name: i.Name,
			Labels: i.Labels, Architecture: i.Architecture})
	}
	for t := range s.VolumeTypes.All() {
		out.VolumeTypes = append(out.VolumeTypes, seed.VolumeType{Identity: t.Identity, Name: t.Name,
			Description: t.Description, StorageType: t.StorageType, FixedSize: !t.AllowResize})
	}
	for v := range s.KubernetesVersions.All() {
		out.KubernetesVersions = append(out.KubernetesVersions, seed.KubernetesVersion{Identity: v.Identity,
			Name: v.Name, Disabled: !v.Enabled, CreatedAt: v.CreatedAt})
	}
	for o := range s.Organisations.All() {
		out.Organisations = append(out.Organisations, o.describe())
	}
	return out
}

func (o *Organisation) describe() seed.Organisation {
	of := seed.Described(o.Meta)
	out := seed.Organisation{Identity: of.Identity, Name: of.Name, Slug: of.Slug, History: of.History,
		Tags:   seed.Tags{Labels: of.Labels, Annotations: of.Annotations},
		Quotas: maps.Clone(o.limits), QuotaIncreases: map[string]seed.JSON[[]wire.QuotaIncrease]{},
		Objects: o.objects(),
		VPCs:    o.describeVPCs(), ReservedIPs: o.describeReservedIPs(), Machines: o.describeMachines()}
	for name, requests := range o.Increases {
		out.QuotaIncreases[name] = seed.JSON[[]wire.QuotaIncrease]{Value: slices.Clone(requests)}
	}
	for p := range o.Projects.All() {
		of := seed.Described(p.Meta)
		project := seed.Project{Identity: of.Identity, Name: of.Name, Slug: of.Slug, History: of.History,
			Tags: seed.Tags{Labels: of.Labels, Annotations: of.Annotations}, Objects: p.Space.objects(),
			VPCs: p.Space.describeVPCs(), ReservedIPs: p.Space.describeReservedIPs(),
			Machines: p.Space.describeMachines()}
		if p.Parent != nil {
			project.Parent = p.Parent.Identity
		}
		out.Projects = append(out.Projects, project)
	}
	o.Directory.Describe(&out)
	return out
}

// lived is the life of an object in a seed.
func lived(l object.Life, held string) seed.Life {
	at, takes, lingers := l.Removal()
	return seed.Life{ReadyAt: l.ReadyAt, RemovedAt: at, DeletingTakes: takes, Lingers: lingers, Held: held}
}

// has returns whether an object is listed. What it contained can be listed for longer, and is not kept then.
func has[T object.Keyed](among *object.Collection[T], item T) bool {
	identity, _ := item.Key()
	_, found := among.Exact(identity)
	return found
}

func groupIdentities(groups []*SecurityGroup) []string {
	var out []string
	for _, g := range groups {
		out = append(out, g.Identity)
	}
	return out
}

func (o *Organisation) describeVPCs() (out []seed.VPC) {
	for v := range o.VPCs.All() {
		of := seed.Described(v.Meta)
		vpc := seed.VPC{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
			Life: lived(v.Life, ""), Region: v.Region.Identity, CIDRs: v.CIDRs}
		if !has(&o.RouteTables, v.Table) {
			vpc.RouteTables = append(vpc.RouteTables, v.Table.describe())
		}
		for t := range o.RouteTables.All() {
			if t.VPC == v {
				vpc.RouteTables = append(vpc.RouteTables, t.describe())
			}
		}
		for s := range o.Subnets.All() {
			if s.VPC == v {
				vpc.Subnets = append(vpc.Subnets, s.describe())
			}
		}
		for g := range o.SecurityGroups.All() {
			if g.VPC == v {
				vpc.SecurityGroups = append(vpc.SecurityGroups, g.describe())
			}
		}
		for r := range v.Firewall.All() {
			vpc.FirewallRules = append(vpc.FirewallRules, r.describe())
		}
		out = append(out, vpc)
	}
	return out
}

func (t *RouteTable) describe() seed.RouteTable {
	of := seed.Described(t.Meta)
	out := seed.RouteTable{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Default: t.IsDefault}
	for r := range t.Routes.All() {
		route := seed.Route{Identity: r.Identity, Destination: r.Destination, GatewayAddress: r.Address}
		if r.Gateway != nil {
			route.NATGateway, route.WithGateway = r.Gateway.Identity, r.Gateway.DefaultRoute == r
		}
		if r.Peering != nil {
			route.Peering = r.Peering.Identity
		}
		out.Routes = append(out.Routes, route)
	}
	return out
}

func (s *Subnet) describe() seed.Subnet {
	of := seed.Described(s.Meta)
	out := seed.Subnet{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Life: lived(s.Life, "")}
	for _, pool := range s.Pools {
		out.CIDRs = append(out.CIDRs, pool.Prefix())
	}
	if s.OwnTable && has(&s.VPC.Org.RouteTables, s.Table) {
		out.RouteTable = s.Table.Identity
	}
	return out
}

func (g *SecurityGroup) describe() seed.SecurityGroup {
	of := seed.Described(g.Meta)
	return seed.SecurityGroup{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Life: lived(g.Life, ""), SameGroupTraffic: g.SameGroupTraffic,
		IngressRules: seed.JSON[[]wire.SecurityGroupRule]{Value: g.Ingress},
		EgressRules:  seed.JSON[[]wire.SecurityGroupRule]{Value: g.Egress}}
}

func (r *FirewallRule) describe() seed.FirewallRule {
	out := seed.FirewallRule{Object: seed.Described(r.Meta), Match: seed.JSON[wire.FirewallMatch]{Value: r.Match}}
	for to, subnet := range map[*string]*Subnet{
		&out.Interface: r.Inner, &out.SourceSubnet: r.Source, &out.DestinationSubnet: r.DestinationTo,
	} {
		if subnet != nil {
			*to = subnet.Identity
		}
	}
	return out
}

func (o *Organisation) describeReservedIPs() (out []seed.ReservedIP) {
	for ip := range o.ReservedIPs.All() {
		of := seed.Described(ip.Meta)
		out = append(out, seed.ReservedIP{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
			Life: lived(ip.Life, ""), Region: ip.Region.Identity, Addresses: ip.Addresses})
	}
	return out
}

func (o *Organisation) describeMachines() (out []seed.Machine) {
	for m := range o.Machines.All() {
		if !has(&o.Subnets, m.Subnet) {
			continue
		}
		of := seed.Described(m.Meta)
		machine := seed.Machine{Identity: of.Identity, Name: of.Name, Slug: of.Slug, Labels: of.Labels,
			Annotations: of.Annotations, History: of.History, Life: lived(m.Life, m.Held), Subnet: m.Subnet.Identity,
			Zone: m.zone, Type: m.kind.Identity, Addresses: m.Addresses, WithoutAddresses: len(m.Addresses) == 0,
			Stopped: m.stopped, Boots: m.boots, CloudInit: m.CloudInit, DeleteProtection: m.DeleteProtection,
			SecurityGroups: groupIdentities(m.SecurityGroups)}
		if m.Image != nil {
			machine.Image = m.Image.Identity
		}
		out = append(out, machine)
	}
	return out
}

// objects are what is in neither a VPC nor a list of machines.
func (o *Organisation) objects() (out seed.Objects) {
	for t := range o.CloudInits.All() {
		out.CloudInits = append(out.CloudInits, seed.CloudInit{Object: seed.Described(t.Meta),
			Content: strings.Clone(t.Content)})
	}
	for n := range o.NATGateways.All() {
		if has(&o.Subnets, n.Subnet) {
			gateway := seed.NATGateway{Object: seed.Described(n.Meta), Life: lived(n.Life, ""),
				Subnet: n.Subnet.Identity, InstanceSize: n.InstanceSize,
				SecurityGroups: groupIdentities(n.SecurityGroups)}
			gateway.Addresses, gateway.ReservedIP = n.describe()
			out.NATGateways = append(out.NATGateways, gateway)
		}
	}
	for g := range o.TargetGroups.All() {
		out.TargetGroups = append(out.TargetGroups, g.describe())
	}
	for lb := range o.Loadbalancers.All() {
		if has(&o.Subnets, lb.Subnet) {
			out.LoadBalancers = append(out.LoadBalancers, lb.describe())
		}
	}
	for f := range o.Filesystems.All() {
		out.Filesystems = append(out.Filesystems, seed.Filesystem{Object: seed.Described(f.Meta),
			Subnet: f.Subnet.Identity, Endpoint: f.Endpoint, Addresses: f.Addresses, Size: f.Size,
			DeleteProtection: f.DeleteProtection, SecurityGroups: groupIdentities(f.SecurityGroups)})
	}
	o.describeVolumes(&out)
	for p := range o.Peerings.All() {
		if p.Requester.Org == o {
			out.Peerings = append(out.Peerings, seed.Peering{Object: seed.Described(p.Meta),
				Requester: p.Requester.Identity, Accepter: p.Accepter.Identity, Status: p.Status, Message: p.Message})
		}
	}
	return out
}
