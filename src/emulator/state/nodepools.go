package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
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
