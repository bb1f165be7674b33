package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// New builds the state that a seed describes, or says which place of the seed is wrong. With a network, a data plane
// serves addresses of that only.
func New(in seed.Seed, switches behaviour.Switches, network netip.Prefix, now time.Time) (*Store, error) {
	s := &Store{Switches: switches, network: network, changed: map[string]*Organisation{}, Now: now,
		restoring: in.Version != 0}
	if err := s.populate(in, now); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	for org := range s.Spaces() {
		org.order()
		org.Directory.SortSeeded()
		org.FinishDeletions(now)
	}
	s.restoring = false
	return s, nil
}

func (s *Store) populate(in seed.Seed, now time.Time) error {
	if err := s.seedCatalog(in, now); err != nil {
		return err
	}
	if err := seed.Each("organisations", "organisation", in.Organisations,
		func(o *seed.Organisation) (string, error) { return o.Name, s.seedOrganisation(o, now) }); err != nil {
		return err
	}
	// What may refer to objects of other organisations, and what refers to that.
	for _, finish := range []func(*Organisation, *seed.Organisation, time.Time) error{
		(*Organisation).seedPeerings, (*Organisation).seedRoutes,
	} {
		if err := seed.EachIndexed("organisations", "organisation", in.Organisations,
			func(i int, o *seed.Organisation) (string, error) {
				return o.Name, finish(s.Organisations.Order[i], o, now)
			}); err != nil {
			return err
		}
	}
	return nil
}

// seedCatalog adds what belongs to no organisation.
func (s *Store) seedCatalog(in seed.Seed, now time.Time) error {
	images, volumeTypes, versions := in.MachineImages, in.VolumeTypes, in.KubernetesVersions
	if len(images) == 0 {
		images = defaultMachineImages()
	}
	if len(volumeTypes) == 0 {
		volumeTypes = seed.DefaultVolumeTypes()
	}
	if len(versions) == 0 {
		versions = seed.DefaultKubernetesVersions()
	}
	return cmp.Or(
		seed.Each("regions", "region", in.Regions,
			func(r *seed.Region) (string, error) { return r.Name, s.seedRegion(*r, now) }),
		seed.Each("machineTypes", "machine type", in.MachineTypes,
			func(t *seed.MachineType) (string, error) { return t.Name, s.seedMachineType(*t) }),
		seed.Each("machineImages", "machine image", images,
			func(i *seed.MachineImage) (string, error) { return i.Name, s.seedImage(*i) }),
		seed.Each("volumeTypes", "volume type", volumeTypes,
			func(t *seed.VolumeType) (string, error) { return t.Name, s.seedVolumeType(*t) }),
		seed.Each("kubernetesVersions", "Kubernetes version", versions,
			func(v *seed.KubernetesVersion) (string, error) { return v.Name, s.seedKubernetesVersion(*v, now) }),
	)
}

func (s *Store) seedOrganisation(in *seed.Organisation, now time.Time) error {
	of := seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels,
		Details: seed.Details{Slug: in.Slug, Annotations: in.Annotations, History: in.History}}
	if err := checkNew(s, &s.Organisations, checked{kind: "organisation", object: of, now: now}); err != nil {
		return err
	}
	org := newSpace(s, recorded("o", of, s.Organisations.HasSlug, now), nil)
	if err := object.Insert(&s.Organisations, org); err != nil {
		return err
	}
	if err := org.seedQuotas(in, now); err != nil {
		return err
	}
	if err := org.seedObjects(in.VPCs, in.ReservedIPs, in.Machines, now); err != nil {
		return err
	}
	if err := org.seedRest(&in.Objects, now); err != nil {
		return err
	}
	if err := org.seedProjects(in.Projects, now); err != nil {
		return err
	}
	org.deletedProjects = in.DeletedProjects
	if err := org.checkProjects(in.ServiceAccounts); err != nil {
		return err
	}
	return org.Directory.Seed(in, s.checks(now))
}

func (o *Organisation) seedQuotas(in *seed.Organisation, now time.Time) error {
	for name, limit := range in.Quotas {
		if err := o.SetLimit(name, limit, now); err != nil {
			return seed.At("quotas."+name, err)
		}
	}
	for name, requests := range in.QuotaIncreases {
		if _, err := FindQuota(name); err != nil {
			return seed.At("quotaIncreases."+name, err)
		}
		for i, request := range requests.Value {
			place := fmt.Sprintf("quotaIncreases.%s[%d]", name, i)
			if err := object.OneOf("decision", request.Decision, DecisionPending, decisionApproved); err != nil {
				return seed.At(place, err)
			}
		}
		o.Increases[name] = requests.Value
	}
	return nil
}

// checkProjects checks the projects that federated identities name.
func (o *Organisation) checkProjects(accounts []seed.ServiceAccount) error {
	return seed.Each("serviceAccounts", "service account", accounts, func(a *seed.ServiceAccount) (string, error) {
		return a.Name, seed.Each("federatedIdentities", "federated identity", a.FederatedIdentities,
			func(f *seed.FederatedIdentity) (string, error) {
				return f.Name, seed.At("project", o.CheckProject(f.Project))
			})
	})
}

func (o *Organisation) seedProject(in *seed.Project, now time.Time) error {
	spec := object.Spec{Identity: in.Identity, Name: in.Name, Slug: in.Slug, Description: in.Description,
		Labels: in.Labels, Annotations: in.Annotations}
	if err := o.CheckNewProject(o.Store.checks(now), spec); err != nil {
		return err
	}
	p := o.NewProject(spec, now)
	p.Record = object.Written(p.Record, in.CreatedAt, in.UpdatedAt, in.ObjectVersion)
	if err := object.Insert(&o.Projects, p); err != nil {
		return err
	}
	if err := p.Space.seedObjects(in.VPCs, in.ReservedIPs, in.Machines, now); err != nil {
		return err
	}
	return p.Space.seedRest(&in.Objects, now)
}

// seedObjects adds what an organisation or a project owns.
func (o *Organisation) seedObjects(vpcs []seed.VPC, ips []seed.ReservedIP, machines []seed.Machine,
	now time.Time) error {
	if err := seed.Each("vpcs", "VPC", vpcs,
		func(v *seed.VPC) (string, error) { return v.Name, o.seedVPC(v, now) }); err != nil {
		return err
	}
	if err := seed.Each("reservedIps", "reserved IP", ips,
		func(ip *seed.ReservedIP) (string, error) { return ip.Name, o.seedReservedIP(ip, now) }); err != nil {
		return err
	}
	return seed.Each("machines", "machine", machines, func(m *seed.Machine) (string, error) {
		_, err := o.SeedMachine(*m, now)
		return m.Name, err
	})
}

// SeedMachine checks the meta data of a machine as that of a request is checked, and adds the machine. It is ready at
// once.
func (o *Organisation) SeedMachine(spec seed.Machine, now time.Time) (*Machine, error) {
	if err := cmp.Or(seed.Check(spec), checkNew(o.Store, &o.Machines, checked{kind: "machine", object: described(spec),
		life: spec.Life, held: MachineStatuses(), now: now})); err != nil {
		return nil, err
	}
	return o.AddMachine(spec, now)
}

// AddMachine adds a machine that is ready at once, and whose meta data was checked.
func (o *Organisation) AddMachine(spec seed.Machine, now time.Time) (*Machine, error) {
	home, err := o.subnetFor(spec.Subnet)
	if spec.Removed() {
		// Its subnet may be on its way out, too.
		home, err = required(&o.Subnets, "subnet", "subnet", spec.Subnet)
	}
	if err != nil {
		return nil, err
	}
	kind, err := o.Store.machineTypeFor(spec.Type)
	if err != nil {
		return nil, fmt.Errorf("field \"type\": %w", err)
	}
	zone, err := home.VPC.Region.zoneFor(spec.Zone)
	if err != nil {
		return nil, fmt.Errorf("field \"zone\": %w", err)
	}
	if _, taken := o.Machines.Exact(spec.Identity); taken {
		return nil, fmt.Errorf("field \"identity\": %q is used twice", spec.Identity)
	}
	groups, err := o.SecurityGroupsIn(home.VPC, spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	image, err := o.Store.ImageFor(spec.Image)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if !spec.WithoutAddresses {
		if addrs, err = home.assign(spec.Addresses); err != nil {
			return nil, err
		}
	}
	m := &Machine{
		Subnet: home, kind: kind, zone: zone, Addresses: addrs, stopped: spec.Stopped, boots: spec.Boots,
		Image: image, CloudInit: spec.CloudInit, DeleteProtection: spec.DeleteProtection, Held: spec.Held,
		Life: revived(spec.Life), Groups: map[*TargetGroup]bool{},
	}
	if m.ReadyAt.IsZero() {
		m.ReadyAt = now
	}
	m.Record = recorded("vm", described(spec), o.Machines.HasSlug, now)
	o.Machines.Add(m)
	home.Users.Add("machine", m.Identity)
	m.SecurityGroups = Reattach("machine", m.Identity, nil, groups)
	o.Reselect(m, now)
	if spec.Removed() {
		m.Depart()
	}
	return m, nil
}

// described is the meta data of a machine.
func described(m seed.Machine) seed.Object {
	return seed.Object{Identity: m.Identity, Name: m.Name, Labels: m.Labels,
		Details: seed.Details{Slug: m.Slug, Annotations: m.Annotations, History: m.History}}
}

// seedRest adds what uses networks and machines.
func (o *Organisation) seedRest(in *seed.Objects, now time.Time) error {
	defer o.orderListeners(in.TargetGroups)
	return cmp.Or(
		seed.Each("cloudInits", "cloud-init template", in.CloudInits,
			func(c *seed.CloudInit) (string, error) { return c.Name, o.seedCloudInit(c, now) }),
		seed.Each("natGateways", "NAT gateway", in.NATGateways,
			func(n *seed.NATGateway) (string, error) { return n.Name, o.seedNATGateway(n, now) }),
		seed.Each("targetGroups", "target group", in.TargetGroups,
			func(g *seed.TargetGroup) (string, error) { return g.Name, o.seedTargetGroup(g, now) }),
		seed.Each("loadBalancers", "load balancer", in.LoadBalancers,
			func(lb *seed.LoadBalancer) (string, error) { return lb.Name, o.seedLoadbalancer(lb, now) }),
		seed.Each("filesystems", "file system", in.Filesystems,
			func(f *seed.Filesystem) (string, error) { return f.Name, o.seedFilesystem(f, now) }),
		o.seedVolumes(in, now),
		seed.Each("kubernetesClusters", "Kubernetes cluster", in.Clusters,
			func(k *seed.Cluster) (string, error) { return k.Name, o.seedCluster(k, now) }),
		seed.Each("buckets", "bucket", in.Buckets,
			func(b *seed.Bucket) (string, error) { return b.Name, o.seedBucket(b, now) }),
	)
}

// seedProjects adds projects, and then the projects above them.
func (o *Organisation) seedProjects(projects []seed.Project, now time.Time) error {
	if err := seed.Each("projects", "project", projects,
		func(p *seed.Project) (string, error) { return p.Name, o.seedProject(p, now) }); err != nil {
		return err
	}
	return seed.EachIndexed("projects", "project", projects, func(i int, p *seed.Project) (string, error) {
		return p.Name, o.seedParent(o.Projects.Order[i], p.Parent)
	})
}

// seedParent puts a project below another one, if it names one.
func (o *Organisation) seedParent(p *Project, ref string) error {
	if ref == "" {
		return nil
	}
	above, err := required(&o.Projects, "parent", "project", ref)
	if err != nil {
		return err
	}
	if err := p.CheckParent("parent", above); err != nil {
		return err
	}
	p.Parent = above
	return nil
}

// order sorts what a seed has in the VPCs and organisations that it belongs to, as it was made.
func (o *Organisation) order() {
	object.ByAge(&o.Subnets, func(s *Subnet) time.Time { return s.CreatedAt })
	object.ByAge(&o.RouteTables, func(t *RouteTable) time.Time { return t.CreatedAt })
	object.ByAge(&o.SecurityGroups, func(g *SecurityGroup) time.Time { return g.CreatedAt })
	object.ByAge(&o.Peerings, func(p *Peering) time.Time { return p.CreatedAt })
	for m := range o.Machines.All() {
		slices.SortStableFunc(m.volumes, func(a, b *Volume) int {
			return cmp.Or(a.latest.CreatedAt.Compare(b.latest.CreatedAt),
				strings.Compare(a.latest.Identity, b.latest.Identity))
		})
	}
}
