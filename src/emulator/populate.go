package emulator

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// newStore builds the state that a seed describes.
func newStore(in seed.Seed, now time.Time) (*store, error) {
	s := &store{changed: map[string]*organisation{}}
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
	for _, o := range in.Organisations {
		if err := s.seedOrganisation(o, now); err != nil {
			return nil, fmt.Errorf("seed organisation %q: %w", o.Name, err)
		}
	}
	return s, nil
}

func (s *store) seedRegion(in seed.Region, now time.Time) error {
	if in.Name == "" || len(in.Zones) == 0 {
		return fmt.Errorf("a region needs a name and at least one zone")
	}
	r := &region{meta: newMeta("region", spec{identity: in.Identity, name: in.Name}, s.regions.hasSlug, now)}
	for _, name := range in.Zones {
		zone := newMeta("zone", spec{name: name}, func(string) bool { return false }, now)
		r.zones = append(r.zones, wire.Zone{Meta: zone.Meta, CloudRegionIdentity: r.Identity})
	}
	for _, prefix := range in.PublicAddresses {
		r.public = append(r.public, address.NewPool(prefix))
	}
	return insert(&s.regions, r)
}

func (s *store) seedMachineType(in seed.MachineType) error {
	if in.Name == "" {
		return fmt.Errorf("a machine type needs a name")
	}
	identity := in.Identity
	if identity == "" {
		identity = newIdentity("mt")
	}
	return insert(&s.machineTypes, &machineType{wire.MachineType{
		Identity: identity, Name: in.Name, Slug: slugify(in.Name),
		VCPUs: in.VCPUs, RAMMb: in.RAMMb, DiskGb: in.DiskGb,
	}})
}

func (s *store) seedOrganisation(in seed.Organisation, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("an organisation needs a name")
	}
	org := newSpace(s, newMeta("o",
		spec{identity: in.Identity, name: in.Name, slug: in.Slug}, s.organisations.hasSlug, now), nil)
	if err := insert(&s.organisations, org); err != nil {
		return err
	}
	for name, limit := range in.Quotas {
		if err := org.setLimit(name, limit, now); err != nil {
			return err
		}
	}
	if err := org.seedObjects(in.VPCs, in.ReservedIPs, in.Machines, now); err != nil {
		return err
	}
	for _, p := range in.Projects {
		if err := org.seedProject(p, now); err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
	}
	return nil
}

func (o *organisation) seedProject(in seed.Project, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a project needs a name")
	}
	p := o.newProject(spec{identity: in.Identity, name: in.Name, slug: in.Slug}, now)
	if err := insert(&o.projects, p); err != nil {
		return err
	}
	return p.space.seedObjects(in.VPCs, in.ReservedIPs, in.Machines, now)
}

// seedObjects adds what an organisation or a project owns.
func (o *organisation) seedObjects(vpcs []seed.VPC, ips []seed.ReservedIP, machines []seed.Machine, now time.Time) error {
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
		if _, err := o.seedMachine(m, now); err != nil {
			return fmt.Errorf("machine %q: %w", m.Name, err)
		}
	}
	return nil
}

func (o *organisation) seedVPC(in seed.VPC, now time.Time) error {
	home, found := o.store.regions.find(in.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", in.Region)
	}
	if in.Name == "" || len(in.CIDRs) == 0 {
		return fmt.Errorf("a VPC needs a name and at least one CIDR")
	}
	v := &vpc{org: o, region: home, cidrs: in.CIDRs, meta: newMeta("vpc",
		spec{identity: in.Identity, name: in.Name, labels: in.Labels}, o.vpcs.hasSlug, now)}
	if err := insert(&o.vpcs, v); err != nil {
		return err
	}
	return v.seedNetwork(in, now)
}

// within says whether a prefix lies in one of the others.
func within(prefix netip.Prefix, outer []netip.Prefix) bool {
	for _, o := range outer {
		if o.Bits() <= prefix.Bits() && o.Contains(prefix.Addr()) {
			return true
		}
	}
	return false
}

// insert adds an object unless its identity is taken.
func insert[T keyed](into *collection[T], object T) error {
	identity, _ := object.key()
	if _, taken := into.exact(identity); taken {
		return fmt.Errorf("identity %q is used twice", identity)
	}
	into.add(object)
	return nil
}

// seedMachine adds a machine that is ready at once.
func (o *organisation) seedMachine(spec seed.Machine, now time.Time) (*machine, error) {
	home, err := o.subnetFor(spec.Subnet)
	if err != nil {
		return nil, err
	}
	if spec.Name == "" {
		return nil, fmt.Errorf("a machine needs a name")
	}
	kind, err := o.store.machineTypeFor(spec.Type)
	if err != nil {
		return nil, err
	}
	zone, err := home.vpc.region.zoneFor(spec.Zone)
	if err != nil {
		return nil, err
	}
	if _, taken := o.machines.exact(spec.Identity); taken {
		return nil, fmt.Errorf("identity %q is used twice", spec.Identity)
	}
	groups, err := o.securityGroupsIn(home.vpc, spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	addrs, err := home.assign(spec.Addresses)
	if err != nil {
		return nil, err
	}
	m := &machine{
		subnet: home, kind: kind, zone: zone, addresses: addrs, stopped: spec.Stopped,
		life: life{readyAt: now}, groups: map[*targetGroup]bool{},
	}
	m.meta = newMeta("vm", machineMeta(spec), o.machines.hasSlug, now)
	o.machines.add(m)
	home.users.add("machine", m.Identity)
	m.securityGroups = reattach("machine", m.Identity, nil, groups)
	o.reselect(m, now)
	return m, nil
}

func machineMeta(m seed.Machine) spec {
	return spec{identity: m.Identity, name: m.Name, slug: m.Slug, labels: m.Labels, annotations: m.Annotations}
}

// assign reserves the given addresses, or takes free ones when there are none.
func (s *subnet) assign(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 {
		return takeAddresses(s.pools)
	}
	for i, addr := range wanted {
		if err := s.reserve(addr); err != nil {
			releaseAddresses(s.pools, wanted[:i])
			return nil, err
		}
	}
	return wanted, nil
}

func (s *subnet) reserve(addr netip.Addr) error {
	for _, pool := range s.pools {
		if pool.Prefix().Contains(addr) {
			return pool.Reserve(addr)
		}
	}
	return fmt.Errorf("address %s is outside subnet %s", addr, s.Name)
}

func (o *organisation) subnetFor(ref string) (*subnet, error) {
	if ref == "" {
		for first := range o.subnets.all() {
			return first, nil
		}
	}
	if found, ok := o.subnets.find(ref); ok && !found.wanted() {
		return nil, conflict("subnet %q is being deleted", ref)
	} else if ok {
		return found, nil
	}
	return nil, fmt.Errorf("subnet %q does not exist in organisation %s", ref, o.Slug)
}

// machineTypeFor resolves a machine type; an empty reference means the first.
func (s *store) machineTypeFor(ref string) (*machineType, error) {
	if ref == "" {
		for first := range s.machineTypes.all() {
			return first, nil
		}
	}
	if found, ok := s.machineTypes.find(ref); ok {
		return found, nil
	}
	return nil, fmt.Errorf("machine type %q does not exist", ref)
}

// zoneFor checks a zone's slug; an empty one means the region's first zone.
func (r *region) zoneFor(slug string) (string, error) {
	if slug == "" {
		return r.zones[0].Slug, nil
	}
	for _, zone := range r.zones {
		if zone.Slug == slug {
			return slug, nil
		}
	}
	return "", fmt.Errorf("zone %q is not in region %s", slug, r.Slug)
}
