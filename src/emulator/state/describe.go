package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Describe is a seed with which a store has the same content. The store is locked. Package auth has the rest of the
// credentials.
func (s *Store) Describe() seed.Seed {
	out := seed.Seed{Version: seed.Version}
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
		Objects: o.objects(), DeletedProjects: slices.Clone(o.deletedProjects),
		VPCs: o.describeVPCs(), ReservedIPs: o.describeReservedIPs(), Machines: o.describeMachines()}
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

// keeps returns whether a machine is in the seed: it is listed, and so is its subnet.
func (o *Organisation) keeps(m *Machine) bool {
	return has(&o.Machines, m) && has(&o.Subnets, m.Subnet)
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
				SecurityGroups: identities(n.SecurityGroups)}
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
			DeleteProtection: f.DeleteProtection, SecurityGroups: identities(f.SecurityGroups)})
	}
	o.describeVolumes(&out)
	out.Clusters, out.Buckets = o.describeClusters(), o.describeBuckets()
	for p := range o.Peerings.All() {
		if p.Requester.Org == o {
			out.Peerings = append(out.Peerings, seed.Peering{Object: seed.Described(p.Meta),
				Requester: p.Requester.Identity, Accepter: p.Accepter.Identity, Status: p.Status, Message: p.Message})
		}
	}
	return out
}

func identityTaken(identity string) error {
	return fmt.Errorf("field \"identity\": %q is used twice", identity)
}

// recorded is the meta data of an object of a seed.
func recorded(prefix string, in seed.Object, slugTaken func(string) bool, now time.Time) object.Record {
	return iam.Recorded(prefix, in, slugTaken, now)
}

// revived is the life of an object of a seed.
func revived(in seed.Life) object.Life {
	life := object.Life{ReadyAt: in.ReadyAt}
	if in.Removed() {
		life.Remove(in.RemovedAt, in.DeletingTakes, in.Lingers)
	}
	return life
}

// checks are those of the meta data of objects of a seed. What an emulator wrote can be older than the present
// switches.
func (s *Store) checks(now time.Time) object.Checks {
	if s.restoring {
		return object.Checks{Now: now}
	}
	return object.Checks{UniqueNames: s.Switches.UniqueNames, StrictLabels: s.Switches.StrictLabels, Now: now}
}

// checked is an object of a seed whose meta data is to be checked.
type checked struct {
	kind   string
	object seed.Object
	life   seed.Life
	// held are the statuses that an object of the kind can be held in.
	held    []string
	longest object.Lengths
	// unique names are taken by other objects whatever the switches are.
	unique bool
	// gone objects are not listed.
	gone bool
	// byDefault: the object is made with another one, and all of these have the same name.
	byDefault bool
	now       time.Time
}

// ended returns whether the object is only still listed as deleted, or not at all.
func (c checked) ended() bool {
	life := revived(c.life)
	return c.gone || !life.Active() && life.At(c.now) >= object.Deleted
}

// checkNew checks the meta data of an object of a seed as that of a request for a new object is checked.
func checkNew[T object.Described](s *Store, among *object.Collection[T], c checked) error {
	if err := checkHeld(c.life.Held, c.held); err != nil {
		return err
	}
	checks := s.checks(c.now)
	checks.UniqueNames = !s.restoring && !c.byDefault && !c.ended() && (c.unique || checks.UniqueNames)
	return object.CheckNew(checks, among, c.kind, iam.Specified(c.object, c.longest))
}

// checkHeld refuses a status in which objects of a kind cannot be held.
func checkHeld(status string, known []string) error {
	switch {
	case status == "":
		return nil
	case len(known) == 0:
		return apierror.Invalid("field \"held\" is only for machines, load balancers, volumes and snapshots")
	}
	return object.OneOf("held", status, known...)
}

// required finds what a field of a seed names.
func required[T object.Keyed](among *object.Collection[T], field, kind, ref string) (T, error) {
	found, ok := among.Find(ref)
	if !ok {
		return found, fmt.Errorf("field %q: %s %q not found", field, kind, ref)
	}
	return found, nil
}

// inOrder sorts objects as a seed lists their identities. Those that it does not list stay behind the others.
func inOrder[T object.Keyed](items []T, identities []string) {
	rank := map[string]int{}
	for i, identity := range identities {
		rank[identity] = i - len(identities)
	}
	slices.SortStableFunc(items, func(a, b T) int {
		left, _ := a.Key()
		right, _ := b.Key()
		return cmp.Compare(rank[left], rank[right])
	})
}

// identities are those of objects.
func identities[T object.Keyed](items []T) (out []string) {
	for _, item := range items {
		identity, _ := item.Key()
		out = append(out, identity)
	}
	return out
}

// placed finds the subnet of an object, and its security groups in the subnet's VPC.
func (o *Organisation) placed(subnet string, groups []string) (*Subnet, []*SecurityGroup, error) {
	home, err := required(&o.Subnets, "subnet", "subnet", subnet)
	if err != nil {
		return nil, nil, err
	}
	found, err := o.SecurityGroupsIn(home.VPC, groups)
	return home, found, err
}
