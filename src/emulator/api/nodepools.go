package api

import (
	"cmp"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) nodePools() resource.Kind[space, *state.NodePool, wire.NodePoolInput] {
	return resource.Kind[space, *state.NodePool, wire.NodePoolInput]{
		Name: "node pool", Prefix: "np", Path: "/v1/kubernetes/clusters/{id}/nodepools", Key: "pool",
		Single: true, Partial: true,
		Meta: func(in *wire.NodePoolInput) wire.MetaInput { return in.MetaInput },
		Among: func(o space, r *resource.Request) (*object.Collection[*state.NodePool], error) {
			k, err := srv.clusters().Named(o, r)
			if err != nil {
				return nil, err
			}
			return &k.Pools, nil
		},
		New: srv.newNodePool, Change: srv.changeNodePool,
		Leave: func(o space, r *resource.Request, p *state.NodePool) {
			srv.scale(o, r, p, 0)
			p.Remove(r.Now, srv.delays.KubernetesDelete, srv.delays.KubernetesLinger)
			p.Touch(r.Now)
			p.Depart()
			o.FinishDeletions(r.Now)
		},
		View: func(_ space, r *resource.Request, p *state.NodePool) any { return p.View(r.Now) },
		Traits: func(_ space, r *resource.Request, _ object.Traits, p *state.NodePool) object.Traits {
			return p.Traits(r.Now)
		},
	}
}

func (srv *Server) newNodePool(o space, r *resource.Request, record object.Record,
	in *wire.NodePoolInput) (*state.NodePool, error) {
	k, err := srv.clusters().Named(o, r)
	switch {
	case err != nil:
		return nil, err
	case !k.Active():
		return nil, apierror.Conflict("Kubernetes cluster %q is being deleted", k.Identity)
	case k.Type != state.Managed:
		return nil, apierror.Invalid("Kubernetes cluster %q has type %s; only clusters of type %s have node pools",
			k.Identity, k.Type, state.Managed)
	case in.MachineType == "":
		return nil, apierror.Invalid("field \"machineType\" is required")
	}
	p := &state.NodePool{Record: record, Life: object.Life{ReadyAt: r.Now.Add(srv.delays.KubernetesCreate)},
		Cluster: k, Subnet: k.Subnet, Version: k.Version}
	if in.SubnetIdentity != "" {
		if p.Subnet, err = object.Referred(&o.Subnets, "subnetIdentity", "subnet", in.SubnetIdentity); err != nil {
			return nil, err
		}
	}
	if p.Subnet.VPC != k.Subnet.VPC {
		return nil, apierror.Invalid("field \"subnetIdentity\": subnet %q is in another VPC than the cluster",
			in.SubnetIdentity)
	}
	groups, err := srv.configureNodePool(o, r, p, in)
	if err != nil {
		return nil, err
	}
	p.Join(groups)
	if err := srv.fill(o, r, p); err != nil {
		p.Quit()
		return nil, err
	}
	return p, nil
}

func (srv *Server) changeNodePool(o space, r *resource.Request, p *state.NodePool, record object.Record,
	in *wire.NodePoolInput) error {
	next := *p
	next.Record = record
	groups, err := srv.configureNodePool(o, r, &next, in)
	if err != nil {
		return err
	}
	// Machines of the pool are made with the new settings.
	next.SecurityGroups = groups
	if err := srv.fill(o, r, &next); err != nil {
		return err
	}
	next.SecurityGroups = p.SecurityGroups
	*p = next
	p.Attach(groups)
	return nil
}

// configureNodePool applies the settings of a body.
func (srv *Server) configureNodePool(o space, r *resource.Request, p *state.NodePool,
	in *wire.NodePoolInput) (groups []*state.SecurityGroup, err error) {
	before := resource.Base(r, p.Settings, wire.NodePoolSettings{})
	if p.Settings, err = resource.Overlay(r, before); err != nil {
		return nil, err
	}
	p.Settings.UpgradeStrategy = cmp.Or(p.Settings.UpgradeStrategy, before.UpgradeStrategy)
	if p.Settings.EnableAutoscaling {
		if in.Replicas == nil {
			p.Settings.Replicas = min(p.Settings.Replicas, p.Settings.MaxReplicas)
		}
		// No autoscaler runs, so that the pool has the least number of machines unless another one is set.
		if p.Settings.Replicas >= 0 { // Complete refuses the others
			p.Settings.Replicas = max(p.Settings.Replicas, p.Settings.MinReplicas)
		}
	}
	if err := p.Complete(); err != nil {
		return nil, err
	}
	if err := p.Configure(o.Store, in); err != nil {
		return nil, err
	}
	if in.SecurityGroupAttachments == nil && !r.Rules.ReplaceAll {
		return p.SecurityGroups, nil
	}
	return o.SecurityGroupsIn(p.Subnet.VPC, in.SecurityGroupAttachments)
}

// fill gives a node pool as many machines as its settings want.
func (srv *Server) fill(o space, r *resource.Request, p *state.NodePool) error {
	if more := p.Settings.Replicas - p.Machines().Len(); more > 0 {
		return srv.addNodes(o, r, p, more)
	}
	srv.scale(o, r, p, p.Settings.Replicas)
	return nil
}

// addNodes adds machines to a node pool, or none.
func (srv *Server) addNodes(o space, r *resource.Request, p *state.NodePool, more int) error {
	if err := o.AdmitMore(state.QuotaMachines, more); err != nil {
		return err
	}
	before := p.Machines().Len()
	for range more {
		if err := srv.addNode(o, r, p); err != nil {
			srv.scale(o, r, p, before)
			return apierror.Conflict("adding a machine to node pool %q: %v", p.Name, err)
		}
	}
	return nil
}

// maxPoolName leaves room for what makes the names of machines different.
const maxPoolName = 45

// addNode makes a machine of a node pool.
func (srv *Server) addNode(o space, r *resource.Request, p *state.NodePool) error {
	identity := object.NewIdentity("vm")
	spec := seed.Machine{
		Identity: identity, Name: p.Slug[:min(len(p.Slug), maxPoolName)] + "-" + identity[len(identity)-8:],
		Subnet: p.Subnet.Identity, Zone: p.Zone, Type: p.Type.Identity,
	}
	for _, g := range p.SecurityGroups {
		spec.SecurityGroups = append(spec.SecurityGroups, g.Identity)
	}
	m, err := o.AddMachine(spec, r.Now)
	if err != nil {
		return err
	}
	m.ReadyAt = r.Now.Add(srv.delays.MachineCreate)
	p.Adopt(m)
	return nil
}

// scale deletes the newest machines of a node pool that are more than wanted.
func (srv *Server) scale(o space, r *resource.Request, p *state.NodePool, wanted int) {
	for i, m := range slices.Collect(p.Machines().All()) {
		if i >= wanted {
			srv.RemoveMachine(o, m, r.Now)
		}
	}
}

func (srv *Server) nodeMachines() resource.Kind[space, *state.Machine, struct{}] {
	return resource.Kind[space, *state.Machine, struct{}]{
		Name: "machine", Path: "/v1/kubernetes/clusters/{id}/nodepools/{pool}/machines", Key: "machine",
		Among: func(o space, r *resource.Request) (*object.Collection[*state.Machine], error) {
			p, err := srv.nodePools().Named(o, r)
			if err != nil {
				return nil, err
			}
			return p.Machines(), nil
		},
		Release: srv.removeNode,
		View:    func(_ space, _ *resource.Request, m *state.Machine) any { return m.NodeView() },
	}
}

// removeNode deletes a machine of a node pool. Another one takes its place, unless the pool is to be smaller.
func (srv *Server) removeNode(o space, r *resource.Request, m *state.Machine) error {
	p, err := srv.nodePools().Named(o, r)
	if err != nil {
		return err
	}
	if !p.Active() {
		return apierror.Conflict("node pool %q is being deleted", p.Identity)
	}
	if r.URL.Query().Get("scaleDown") == "true" {
		p.Settings.Replicas = max(0, p.Settings.Replicas-1)
		p.Touch(r.Now)
	} else if err := srv.addNodes(o, r, p, 1); err != nil {
		return err
	}
	srv.RemoveMachine(o, m, r.Now)
	return nil
}
