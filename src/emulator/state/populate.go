package state

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// New builds the state that a seed describes.
func New(in seed.Seed, switches behaviour.Switches, now time.Time) (*Store, error) {
	s := &Store{Switches: switches, changed: map[string]*Organisation{}, restoring: in.Version != 0}
	for _, r := range in.Regions {
		if err := s.seedRegion(r, now); err != nil {
			return nil, fmt.Errorf("seed region %q: %w", r.Name, err)
		}
	}
	for _, t := range in.MachineTypes {
		if err := s.seedMachineType(t); err != nil {
			return nil, fmt.Errorf("seed machine type %q: %w", t.Name, err)
		}
	}
	images := in.MachineImages
	if len(images) == 0 {
		images = defaultMachineImages()
	}
	for _, i := range images {
		if err := s.seedImage(i); err != nil {
			return nil, fmt.Errorf("seed machine image %q: %w", i.Name, err)
		}
	}
	volumeTypes := in.VolumeTypes
	if len(volumeTypes) == 0 {
		volumeTypes = seed.DefaultVolumeTypes()
	}
	for _, t := range volumeTypes {
		if err := s.seedVolumeType(t); err != nil {
			return nil, fmt.Errorf("seed volume type %q: %w", t.Name, err)
		}
	}
	versions := in.KubernetesVersions
	if len(versions) == 0 {
		versions = seed.DefaultKubernetesVersions()
	}
	for _, v := range versions {
		if err := s.seedKubernetesVersion(v, now); err != nil {
			return nil, fmt.Errorf("seed Kubernetes version %q: %w", v.Name, err)
		}
	}
	for _, o := range in.Organisations {
		if err := s.seedOrganisation(o, now); err != nil {
			return nil, fmt.Errorf("seed organisation %q: %w", o.Name, err)
		}
	}
	// What may refer to objects of other organisations, and what refers to that.
	for _, finish := range []func(*Organisation, seed.Organisation, time.Time) error{
		(*Organisation).seedPeerings, (*Organisation).seedRoutes,
	} {
		for i, o := range in.Organisations {
			if err := finish(s.Organisations.Order[i], o, now); err != nil {
				return nil, fmt.Errorf("seed organisation %q: %w", o.Name, err)
			}
		}
	}
	for org := range s.Spaces() {
		org.order()
		org.Directory.SortSeeded()
		org.FinishDeletions(now)
	}
	s.restoring = false
	return s, nil
}

func (s *Store) seedOrganisation(in seed.Organisation, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("an organisation needs a name")
	}
	org := newSpace(s, recorded("o", seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels,
		Details: seed.Details{Slug: in.Slug, Annotations: in.Annotations, History: in.History}},
		s.Organisations.HasSlug, now), nil)
	if err := object.Insert(&s.Organisations, org); err != nil {
		return err
	}
	for name, limit := range in.Quotas {
		if err := org.SetLimit(name, limit, now); err != nil {
			return err
		}
	}
	for name, requests := range in.QuotaIncreases {
		if _, err := FindQuota(name); err != nil {
			return fmt.Errorf("field \"quotaIncreases\": %w", err)
		}
		org.Increases[name] = requests.Value
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
	for _, account := range in.ServiceAccounts {
		for _, f := range account.FederatedIdentities {
			if err := org.CheckProject(f.Project); err != nil {
				return fmt.Errorf("service account %q: %w", account.Name, err)
			}
		}
	}
	return org.Directory.Seed(&in, now)
}

func (o *Organisation) seedProject(in seed.Project, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a project needs a name")
	}
	p := o.NewProject(object.Spec{Identity: in.Identity, Name: in.Name, Slug: in.Slug, Description: in.Description,
		Labels: in.Labels, Annotations: in.Annotations}, now)
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
	for _, v := range vpcs {
		if err := o.seedVPC(v, now); err != nil {
			return fmt.Errorf("VPC %q: %w", v.Name, err)
		}
	}
	for _, ip := range ips {
		if err := o.seedReservedIP(ip, now); err != nil {
			return fmt.Errorf("reserved IP %q: %w", ip.Name, err)
		}
	}
	for _, m := range machines {
		if _, err := o.SeedMachine(m, now); err != nil {
			return fmt.Errorf("machine %q: %w", m.Name, err)
		}
	}
	return nil
}

// SeedMachine adds a machine that is ready at once.
func (o *Organisation) SeedMachine(spec seed.Machine, now time.Time) (*Machine, error) {
	home, err := o.subnetFor(spec.Subnet)
	if spec.Removed() {
		// Its subnet may be on its way out, too.
		home, err = required(&o.Subnets, "subnet", "subnet", spec.Subnet)
	}
	if err != nil {
		return nil, err
	}
	if spec.Name == "" {
		return nil, fmt.Errorf("a machine needs a name")
	}
	kind, err := o.Store.machineTypeFor(spec.Type)
	if err != nil {
		return nil, err
	}
	zone, err := home.VPC.Region.zoneFor(spec.Zone)
	if err != nil {
		return nil, err
	}
	if _, taken := o.Machines.Exact(spec.Identity); taken {
		return nil, fmt.Errorf("identity %q is used twice", spec.Identity)
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
	m.Record = object.Written(object.NewRecord("vm", machineMeta(spec), o.Machines.HasSlug, now), spec.CreatedAt,
		spec.UpdatedAt, spec.ObjectVersion)
	o.Machines.Add(m)
	home.Users.Add("machine", m.Identity)
	m.SecurityGroups = Reattach("machine", m.Identity, nil, groups)
	o.Reselect(m, now)
	if spec.Removed() {
		m.Depart()
	}
	return m, nil
}

func machineMeta(m seed.Machine) object.Spec {
	return object.Spec{Identity: m.Identity, Name: m.Name, Slug: m.Slug, Labels: m.Labels, Annotations: m.Annotations,
		Description: m.Description}
}

// seedRest adds what uses networks and machines.
func (o *Organisation) seedRest(in *seed.Objects, now time.Time) error {
	defer o.orderListeners(in.TargetGroups)
	return errors.Join(
		each("cloud-init template", in.CloudInits, func(c *seed.CloudInit) *seed.Object { return &c.Object },
			func(c *seed.CloudInit) error {
				return object.Insert(&o.CloudInits, &CloudInit{Content: c.Content,
					Record: recorded("ci", c.Object, o.CloudInits.HasSlug, now)})
			}),
		each("NAT gateway", in.NATGateways, func(n *seed.NATGateway) *seed.Object { return &n.Object },
			func(n *seed.NATGateway) error { return o.seedNATGateway(n, now) }),
		each("target group", in.TargetGroups, func(g *seed.TargetGroup) *seed.Object { return &g.Object },
			func(g *seed.TargetGroup) error { return o.seedTargetGroup(g, now) }),
		each("load balancer", in.LoadBalancers, func(lb *seed.LoadBalancer) *seed.Object { return &lb.Object },
			func(lb *seed.LoadBalancer) error { return o.seedLoadbalancer(lb, now) }),
		each("file system", in.Filesystems, func(f *seed.Filesystem) *seed.Object { return &f.Object },
			func(f *seed.Filesystem) error { return o.seedFilesystem(f, now) }),
		o.seedVolumes(in, now),
		each("Kubernetes cluster", in.Clusters, func(k *seed.Cluster) *seed.Object { return &k.Object },
			func(k *seed.Cluster) error { return o.seedCluster(k, now) }),
		each("bucket", in.Buckets, func(b *seed.Bucket) *seed.Object { return &b.Object },
			func(b *seed.Bucket) error { return o.seedBucket(b, now) }),
	)
}

// seedProjects adds projects, and then the projects above them.
func (o *Organisation) seedProjects(projects []seed.Project, now time.Time) error {
	for _, p := range projects {
		if err := o.seedProject(p, now); err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
	}
	for i, p := range projects {
		if p.Parent == "" {
			continue
		}
		parent, err := required(&o.Projects, "parent", "project", p.Parent)
		if err == nil {
			err = o.Projects.Order[i].CheckParent("parent", parent)
		}
		if err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
		o.Projects.Order[i].Parent = parent
	}
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
