package emulator

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// plant builds the state that a seed describes.
func plant(seed Seed, now time.Time) (*store, error) {
	s := &store{changed: map[string]*organisation{}}
	for _, r := range seed.Regions {
		if err := s.plantRegion(r, now); err != nil {
			return nil, fmt.Errorf("seed region %q: %w", r.Name, err)
		}
	}
	for _, t := range seed.MachineTypes {
		if err := s.plantMachineType(t); err != nil {
			return nil, fmt.Errorf("seed machine type %q: %w", t.Name, err)
		}
	}
	images := seed.MachineImages
	if len(images) == 0 {
		images = defaultMachineImages()
	}
	for _, i := range images {
		if err := s.plantImage(i); err != nil {
			return nil, fmt.Errorf("seed machine image %q: %w", i.Name, err)
		}
	}
	for _, o := range seed.Organisations {
		if err := s.plantOrganisation(o, now); err != nil {
			return nil, fmt.Errorf("seed organisation %q: %w", o.Name, err)
		}
	}
	return s, nil
}

func (s *store) plantRegion(seed RegionSeed, now time.Time) error {
	if seed.Name == "" || len(seed.Zones) == 0 {
		return fmt.Errorf("a region needs a name and at least one zone")
	}
	r := &region{meta: newMeta("region", spec{identity: seed.Identity, name: seed.Name}, s.regions.hasSlug, now)}
	for _, name := range seed.Zones {
		zone := newMeta("zone", spec{name: name}, func(string) bool { return false }, now)
		r.zones = append(r.zones, wire.Zone{Meta: zone.Meta, CloudRegionIdentity: r.Identity})
	}
	for _, prefix := range seed.PublicAddresses {
		r.public = append(r.public, address.NewPool(prefix))
	}
	return plantInto(&s.regions, r)
}

func (s *store) plantMachineType(seed MachineTypeSeed) error {
	if seed.Name == "" {
		return fmt.Errorf("a machine type needs a name")
	}
	identity := seed.Identity
	if identity == "" {
		identity = newIdentity("mt")
	}
	return plantInto(&s.machineTypes, &machineType{wire.MachineType{
		Identity: identity, Name: seed.Name, Slug: slugify(seed.Name),
		VCPUs: seed.VCPUs, RAMMb: seed.RAMMb, DiskGb: seed.DiskGb,
	}})
}

func (s *store) plantOrganisation(seed OrganisationSeed, now time.Time) error {
	if seed.Name == "" {
		return fmt.Errorf("an organisation needs a name")
	}
	org := newSpace(s, newMeta("o",
		spec{identity: seed.Identity, name: seed.Name, slug: seed.Slug}, s.organisations.hasSlug, now), nil)
	if err := plantInto(&s.organisations, org); err != nil {
		return err
	}
	for name, limit := range seed.Quotas {
		if err := org.setLimit(name, limit, now); err != nil {
			return err
		}
	}
	if err := org.plantObjects(seed.VPCs, seed.ReservedIPs, seed.Machines, now); err != nil {
		return err
	}
	for _, p := range seed.Projects {
		if err := org.plantProject(p, now); err != nil {
			return fmt.Errorf("project %q: %w", p.Name, err)
		}
	}
	return nil
}

func (o *organisation) plantProject(seed ProjectSeed, now time.Time) error {
	if seed.Name == "" {
		return fmt.Errorf("a project needs a name")
	}
	p := o.newProject(spec{identity: seed.Identity, name: seed.Name, slug: seed.Slug}, now)
	if err := plantInto(&o.projects, p); err != nil {
		return err
	}
	return p.space.plantObjects(seed.VPCs, seed.ReservedIPs, seed.Machines, now)
}

// plantObjects plants what an organisation or a project owns.
func (o *organisation) plantObjects(vpcs []VPCSeed, ips []ReservedIPSeed, machines []MachineSpec, now time.Time) error {
	for _, v := range vpcs {
		if err := o.plantVPC(v, now); err != nil {
			return fmt.Errorf("VPC %q: %w", v.Name, err)
		}
	}
	for _, ip := range ips {
		if err := o.plantReservedIP(ip, now); err != nil {
			return fmt.Errorf("reserved IP %q: %w", ip.Name, err)
		}
	}
	for _, m := range machines {
		if _, err := o.plantMachine(m, now); err != nil {
			return fmt.Errorf("machine %q: %w", m.Name, err)
		}
	}
	return nil
}

func (o *organisation) plantVPC(seed VPCSeed, now time.Time) error {
	home, found := o.store.regions.find(seed.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", seed.Region)
	}
	if seed.Name == "" || len(seed.CIDRs) == 0 {
		return fmt.Errorf("a VPC needs a name and at least one CIDR")
	}
	v := &vpc{org: o, region: home, cidrs: seed.CIDRs, meta: newMeta("vpc",
		spec{identity: seed.Identity, name: seed.Name, labels: seed.Labels}, o.vpcs.hasSlug, now)}
	if err := plantInto(&o.vpcs, v); err != nil {
		return err
	}
	return v.plantNetwork(seed, now)
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

// plantInto adds an object unless its identity is taken.
func plantInto[T keyed](into *collection[T], object T) error {
	identity, _ := object.key()
	if _, taken := into.exact(identity); taken {
		return fmt.Errorf("identity %q is used twice", identity)
	}
	into.add(object)
	return nil
}

// plantMachine adds a machine that is ready at once.
func (o *organisation) plantMachine(spec MachineSpec, now time.Time) (*machine, error) {
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

func machineMeta(m MachineSpec) spec {
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
