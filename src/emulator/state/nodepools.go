package state

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// NodePool is a group of machines of a cluster.
type NodePool struct {
	object.Record
	object.Life
	Cluster        *Cluster
	Subnet         *Subnet
	Zone           string
	Type           *MachineType
	Version        *KubernetesVersion
	Settings       wire.NodePoolSettings
	SecurityGroups []*SecurityGroup
	machines       []*Machine
}

// View is the node pool as the API describes it.
func (p *NodePool) View(now time.Time) wire.NodePool {
	return wire.NodePool{
		Meta: p.Meta, AvailabilityZone: p.Zone, Status: provisioned(p.At(now)), VPC: p.Subnet.VPC.Short(),
		Subnet: p.Subnet.Short(), NodePoolSettings: p.Settings, MachineType: &p.Type.MachineType,
		KubernetesVersion: &p.Version.KubernetesVersion, SecurityGroups: SecurityGroupViews(p.SecurityGroups, now),
	}
}

// Traits are the values of the node pool that filters of lists can name.
func (p *NodePool) Traits(now time.Time) object.Traits {
	return p.Record.Traits().Reference("vpc", &p.Subnet.VPC.Record).Reference("subnet", &p.Subnet.Record).
		With("zone", p.Zone).With("status", provisioned(p.At(now)))
}

// Machines are the machines of the pool that were not deleted, in a collection of their own.
func (p *NodePool) Machines() *object.Collection[*Machine] {
	var live object.Collection[*Machine]
	for _, m := range p.machines {
		if m.Active() {
			live.Add(m)
		}
	}
	return &live
}

// Adopt adds a machine to the pool, and forgets those that were deleted.
func (p *NodePool) Adopt(m *Machine) {
	p.machines = append(slices.Collect(p.Machines().All()), m)
}

// Configure applies the settings that are unchanged when a body leaves them out.
func (p *NodePool) Configure(s *Store, in *wire.NodePoolInput) (err error) {
	if in.MachineType != "" {
		if p.Type, err = s.machineTypeFor(in.MachineType); err != nil {
			return apierror.Invalid("field \"machineType\": %v", err)
		}
	}
	if p.Zone, err = p.Subnet.VPC.Region.zoneFor(cmp.Or(in.AvailabilityZone, p.Zone)); err != nil {
		return apierror.Invalid("field \"availabilityZone\": %v", err)
	}
	if in.KubernetesVersionIdentity != "" {
		p.Version, err = s.KubernetesVersionFor(in.KubernetesVersionIdentity)
	}
	return err
}

// Join adds a node pool to its subnet.
func (p *NodePool) Join(groups []*SecurityGroup) {
	p.Subnet.Users.Add("node pool", p.Identity)
	p.Attach(groups)
}

// Attach changes the security groups of machines that are yet to be made.
func (p *NodePool) Attach(groups []*SecurityGroup) {
	p.SecurityGroups = Reattach("node pool", p.Identity, p.SecurityGroups, groups)
}

// Quit ends the use of other objects by a deleted node pool.
func (p *NodePool) Quit() {
	p.Attach(nil)
	p.Subnet.Users.Remove("node pool", p.Identity)
}

// NodeView is the machine as a list of a node pool describes it.
func (m *Machine) NodeView() wire.NodeMachine {
	view := wire.NodeMachine{Identity: m.Identity, MachineName: m.Name, CreatedAt: m.CreatedAt,
		UpdatedAt: m.UpdatedAt, VPC: m.Subnet.VPC.Short(), Subnet: m.Subnet.Short()}
	for _, addr := range m.Addresses {
		view.SystemInfo.Addresses = append(view.SystemInfo.Addresses,
			wire.NodeAddress{Type: "InternalIP", Address: addr.String()})
	}
	return view
}

// Depart ends what the node pool is part of.
func (p *NodePool) Depart() {
	p.Cluster.Org.Leave(&p.Life, p.Quit, func() { p.Cluster.Pools.Remove(p) })
}

// Complete fills in what the creator of the node pool left out, and checks the rest of the settings.
func (p *NodePool) Complete() error {
	s := &p.Settings
	s.UpgradeStrategy = cmp.Or(s.UpgradeStrategy, "auto")
	if err := object.OneOf("upgradeStrategy", s.UpgradeStrategy, "manual", "auto", "minor-only", "always", "onDelete",
		"inPlace", "never"); err != nil {
		return err
	}
	for i, taint := range s.NodeSettings.Taints {
		at := fmt.Sprintf("nodeSettings.nodeTaints[%d].", i)
		if err := object.OneOf(at+"effect", taint.Effect, "NoSchedule", "PreferNoSchedule", "NoExecute"); err != nil {
			return err
		}
		if err := object.OneOf(at+"operator", taint.Operator, "", "Equal", "Exists"); err != nil {
			return err
		}
	}
	switch {
	case s.Replicas < 0 || s.MinReplicas < 0:
		return apierror.Invalid("fields \"replicas\" and \"minReplicas\" must not be less than 0")
	case s.EnableAutoscaling && s.MaxReplicas < max(1, s.MinReplicas, s.Replicas):
		return apierror.Invalid("field \"maxReplicas\" must be at least 1, \"minReplicas\" and \"replicas\", not %d",
			s.MaxReplicas)
	}
	return nil
}

func (k *Cluster) seedNodePool(in *seed.NodePool, now time.Time) (err error) {
	p := &NodePool{Cluster: k, Subnet: k.Subnet, Version: k.Version, Settings: in.Settings.Value,
		Life: revived(in.Life), Record: recorded("np", in.Object, k.Pools.HasSlug, now)}
	if err := checkNew(k.Org.Store, &k.Pools, checked{kind: "node pool", object: in.Object, life: in.Life,
		now: now}); err != nil {
		return err
	}
	if err := seed.At("settings", p.Complete()); err != nil {
		return err
	}
	if err := p.seedPlace(in); err != nil {
		return err
	}
	groups, err := k.Org.SecurityGroupsIn(p.Subnet.VPC, in.SecurityGroups)
	if err != nil {
		return err
	}
	for i, ref := range in.Machines {
		m, err := required(&k.Org.Machines, fmt.Sprintf("machines[%d]", i), "machine", ref)
		if err != nil {
			return err
		}
		if other := m.pool(); other != "" && !k.Org.Store.restoring {
			return fmt.Errorf("field \"machines[%d]\": machine %q is in node pool %q", i, ref, other)
		}
		if slices.Contains(p.machines, m) {
			return fmt.Errorf("field \"machines[%d]\": machine %q is in the list twice", i, ref)
		}
		p.Adopt(m)
	}
	p.Join(groups)
	if in.Removed() {
		p.Depart()
	}
	return object.Insert(&k.Pools, p)
}

// pool is the identity of the node pool that a machine belongs to, or empty.
func (m *Machine) pool() string {
	for k := range m.Subnet.VPC.Org.Clusters.All() {
		for p := range k.Pools.All() {
			if slices.Contains(p.machines, m) {
				return p.Identity
			}
		}
	}
	return ""
}

// seedPlace finds where the machines of the pool are, and of which type and version they are.
func (p *NodePool) seedPlace(in *seed.NodePool) (err error) {
	store := p.Cluster.Org.Store
	if in.Subnet != "" {
		if p.Subnet, err = required(&p.Cluster.Org.Subnets, "subnet", "subnet", in.Subnet); err != nil {
			return err
		}
	}
	if p.Subnet.VPC != p.Cluster.Subnet.VPC && !store.restoring {
		return fmt.Errorf("field \"subnet\": subnet %q is in another VPC than the cluster", in.Subnet)
	}
	if in.Version != "" {
		var found bool
		if p.Version, found = store.kubernetesVersion(in.Version); !found {
			return fmt.Errorf("field \"version\": version %q not found", in.Version)
		}
	}
	if p.Zone, err = p.Subnet.VPC.Region.zoneFor(in.Zone); err != nil {
		return fmt.Errorf("field \"zone\": %w", err)
	}
	if p.Type, err = store.machineTypeFor(in.Type); err != nil {
		return fmt.Errorf("field \"type\": %w", err)
	}
	return nil
}

func (p *NodePool) describe() seed.NodePool {
	out := seed.NodePool{Object: seed.Described(p.Meta), Life: lived(p.Life, ""), Subnet: p.Subnet.Identity,
		Version: p.Version.Identity, Zone: p.Zone, Type: p.Type.Identity,
		Settings:       seed.JSON[wire.NodePoolSettings]{Value: p.Settings},
		SecurityGroups: identities(p.SecurityGroups)}
	for m := range p.Machines().All() {
		if p.Cluster.Org.keeps(m) {
			out.Machines = append(out.Machines, m.Identity)
		}
	}
	return out
}
