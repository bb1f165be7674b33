package state

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// New builds the state that a seed describes.
func New(in seed.Seed, switches behaviour.Switches, now time.Time) (*Store, error) {
	s := &Store{Switches: switches, changed: map[string]*Organisation{}}
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
	return s, nil
}

func (s *Store) seedRegion(in seed.Region, now time.Time) error {
	if in.Name == "" || len(in.Zones) == 0 {
		return fmt.Errorf("a region needs a name and at least one zone")
	}
	r := &region{Record: recorded("region", seed.Object{Identity: in.Identity, Name: in.Name, Details: in.Details},
		s.Regions.HasSlug, now)}
	for _, name := range in.Zones {
		zone := object.NewRecord("zone", object.Spec{Identity: in.ZoneIdentities[name], Name: name},
			func(string) bool { return false }, r.CreatedAt)
		r.Zones = append(r.Zones, wire.Zone{Meta: zone.Meta, CloudRegionIdentity: r.Identity})
	}
	for _, prefix := range in.PublicAddresses {
		r.Public = append(r.Public, address.NewPool(prefix))
	}
	return object.Insert(&s.Regions, r)
}

func (s *Store) seedMachineType(in seed.MachineType) error {
	if in.Name == "" {
		return fmt.Errorf("a machine type needs a name")
	}
	identity := in.Identity
	if identity == "" {
		identity = object.NewIdentity("mt")
	}
	return object.Insert(&s.MachineTypes, &MachineType{wire.MachineType{
		Identity: identity, Name: in.Name, Slug: object.Slugify(in.Name),
		VCPUs: in.VCPUs, RAMMb: in.RAMMb, DiskGb: in.DiskGb,
	}})
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
	if err := org.Directory.SeedProviders(in.Providers, now); err != nil {
		return err
	}
	if err := org.seedPeople(in.Members, in.Invites, now); err != nil {
		return err
	}
	return org.seedAccounts(in.ServiceAccounts, now)
}

func (o *Organisation) seedPeople(members []seed.Member, invites []seed.Invite, now time.Time) error {
	for _, m := range members {
		if err := o.Directory.SeedMember(m, now); err != nil {
			return fmt.Errorf("member %q: %w", m.Name, err)
		}
	}
	for _, i := range invites {
		if err := o.Directory.SeedInvite(i, now); err != nil {
			return fmt.Errorf("invite %q: %w", i.Email, err)
		}
	}
	return nil
}

// seedAccounts adds service accounts, after the projects that their tokens can be bound to.
func (o *Organisation) seedAccounts(accounts []seed.ServiceAccount, now time.Time) error {
	for _, account := range accounts {
		err := o.Directory.Seed(account, now)
		for _, f := range account.FederatedIdentities {
			err = errors.Join(err, o.CheckProject(f.Project))
		}
		if err != nil {
			return fmt.Errorf("service account %q: %w", account.Name, err)
		}
	}
	return nil
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

func (o *Organisation) seedVPC(in seed.VPC, now time.Time) error {
	home, found := o.Store.Regions.Find(in.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", in.Region)
	}
	if in.Name == "" || len(in.CIDRs) == 0 {
		return fmt.Errorf("a VPC needs a name and at least one CIDR")
	}
	v := &VPC{Org: o, Region: home, CIDRs: in.CIDRs, Life: revived(in.Life), Record: recorded("vpc",
		seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}, o.VPCs.HasSlug, now)}
	if err := object.Insert(&o.VPCs, v); err != nil {
		return err
	}
	if err := v.seedNetwork(in, now); err != nil {
		return err
	}
	if in.Removed() {
		v.Depart()
	}
	return nil
}

// Within says whether a prefix lies in one of the others.
func Within(prefix netip.Prefix, outer []netip.Prefix) bool {
	for _, o := range outer {
		if o.Bits() <= prefix.Bits() && o.Contains(prefix.Addr()) {
			return true
		}
	}
	return false
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

// assign reserves the given addresses, or takes free ones when there are none.
func (s *Subnet) assign(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 {
		return TakeAddresses(s.Pools)
	}
	for i, addr := range wanted {
		if err := s.reserve(addr); err != nil {
			ReleaseAddresses(s.Pools, wanted[:i])
			return nil, err
		}
	}
	return wanted, nil
}

func (s *Subnet) reserve(addr netip.Addr) error {
	for _, pool := range s.Pools {
		if pool.Prefix().Contains(addr) {
			return pool.Reserve(addr)
		}
	}
	return fmt.Errorf("address %s is outside subnet %s", addr, s.Name)
}

func (o *Organisation) subnetFor(ref string) (*Subnet, error) {
	if ref == "" {
		for first := range o.Subnets.All() {
			return first, nil
		}
	}
	if found, ok := o.Subnets.Find(ref); ok && !found.Active() {
		return nil, apierror.Conflict("subnet %q is being deleted", ref)
	} else if ok {
		return found, nil
	}
	return nil, fmt.Errorf("subnet %q does not exist in organisation %s", ref, o.Slug)
}

// machineTypeFor resolves a machine type; an empty reference means the first.
func (s *Store) machineTypeFor(ref string) (*MachineType, error) {
	if ref == "" {
		for first := range s.MachineTypes.All() {
			return first, nil
		}
	}
	if found, ok := s.MachineTypes.Find(ref); ok {
		return found, nil
	}
	return nil, fmt.Errorf("machine type %q does not exist", ref)
}

// zoneFor checks a zone's slug; an empty one means the region's first zone.
func (r *region) zoneFor(slug string) (string, error) {
	if slug == "" {
		return r.Zones[0].Slug, nil
	}
	for _, zone := range r.Zones {
		if zone.Slug == slug {
			return slug, nil
		}
	}
	return "", fmt.Errorf("zone %q is not in region %s", slug, r.Slug)
}
