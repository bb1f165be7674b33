package api

import (
	"cmp"
	"maps"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// space is the part of the state that belongs to an organisation or project.
type space = *state.Organisation

func (srv *Server) kubernetesOperations() map[string]handler {
	all := srv.versions().Operations()
	for _, more := range []map[string]resource.Handler[space]{srv.clusters().Operations(),
		srv.nodePools().Operations(), srv.nodeMachines().Operations()} {
		maps.Copy(all, more)
	}
	all["GET /v1/kubernetes/clusters/{id}/kubeconfig"] = srv.refuseKubeconfig
	return served(srv, all, func(c *call) space { return c.org })
}

func (srv *Server) versions() resource.Kind[space, *state.KubernetesVersion, struct{}] {
	return resource.Kind[space, *state.KubernetesVersion, struct{}]{
		Name: "Kubernetes version", Path: "/v1/kubernetes/versions", Single: true, Permanent: true,
		Among: func(space, *resource.Request) (*object.Collection[*state.KubernetesVersion], error) {
			return &srv.Store.KubernetesVersions, nil
		},
		View: func(_ space, _ *resource.Request, v *state.KubernetesVersion) any { return v.KubernetesVersion },
	}
}

func (srv *Server) clusters() resource.Kind[space, *state.Cluster, wire.ClusterInput] {
	return resource.Kind[space, *state.Cluster, wire.ClusterInput]{
		Name: "Kubernetes cluster", Prefix: "k8s", Path: "/v1/kubernetes/clusters", Single: true, Partial: true,
		Meta: func(in *wire.ClusterInput) wire.MetaInput { return in.MetaInput },
		Among: func(o space, _ *resource.Request) (*object.Collection[*state.Cluster], error) {
			return &o.Clusters, nil
		},
		New: srv.newCluster, Change: srv.changeCluster, Release: releaseCluster,
		Leave: func(o space, r *resource.Request, k *state.Cluster) {
			k.Remove(r.Now, srv.delays.KubernetesDelete, srv.delays.KubernetesLinger)
			k.Touch(r.Now)
			k.Depart()
			o.FinishDeletions(r.Now)
		},
		View: func(_ space, r *resource.Request, k *state.Cluster) any { return k.View(r.Now) },
		Traits: func(_ space, r *resource.Request, _ object.Traits, k *state.Cluster) object.Traits {
			return k.Traits(r.Now)
		},
	}
}

// refuseKubeconfig does not invent a kubeconfig, because clients would time out with it.
func (srv *Server) refuseKubeconfig(o space, r *resource.Request) (resource.Answer, error) {
	k, err := srv.clusters().Named(o, r)
	if err != nil {
		return resource.Answer{}, err
	}
	return resource.Answer{}, apierror.Unserved("Kubernetes cluster %q has no kubeconfig, because the emulator runs "+
		"no Kubernetes; use the kubeconfig of a cluster of your own", k.Identity)
}

func (srv *Server) newCluster(o space, r *resource.Request, record object.Record,
	in *wire.ClusterInput) (*state.Cluster, error) {
	k := &state.Cluster{
		Record: record, Life: object.Life{ReadyAt: r.Now.Add(srv.delays.KubernetesCreate)}, Org: o,
		Type: cmp.Or(in.ClusterType, state.Managed), Networking: in.Networking,
	}
	if err := object.OneOf("clusterType", k.Type, state.Managed, state.HostedControlPlane); err != nil {
		return nil, err
	}
	if err := srv.placeCluster(o, k, in); err != nil {
		return nil, err
	}
	var err error
	if k.Version, err = srv.Store.KubernetesVersionFor(in.KubernetesVersionIdentity); err != nil {
		return nil, err
	}
	groups, err := configureCluster(o, r, k, in)
	if err != nil {
		return nil, err
	}
	if err := o.Admit(state.QuotaClusters); err != nil {
		return nil, err
	}
	k.Join(groups)
	return k, nil
}

// placeCluster finds the subnet of a managed cluster, or the region of another one.
func (srv *Server) placeCluster(o space, k *state.Cluster, in *wire.ClusterInput) (err error) {
	if k.Type == state.Managed {
		if k.Subnet, err = object.Referred(&o.Subnets, "subnet", "subnet", in.Subnet); err != nil {
			return err
		}
		k.Region = k.Subnet.VPC.Region
	} else if in.Subnet != "" {
		return apierror.Invalid("field \"subnet\" is only for clusters of type %s", state.Managed)
	}
	if k.Type == state.Managed && in.RegionIdentity == "" {
		return nil
	}
	home, found := srv.Store.Regions.Find(in.RegionIdentity)
	switch {
	case !found:
		return apierror.Invalid("field \"regionIdentity\": region %q not found", in.RegionIdentity)
	case k.Region != nil && k.Region != home:
		return apierror.Invalid("field \"regionIdentity\": subnet %q is not in region %q", in.Subnet, in.RegionIdentity)
	}
	k.Region = home
	return nil
}

func (srv *Server) changeCluster(o space, r *resource.Request, k *state.Cluster, record object.Record,
	in *wire.ClusterInput) (err error) {
	next := *k
	next.Record = record
	if in.KubernetesVersionIdentity != "" {
		if next.Version, err = srv.Store.KubernetesVersionFor(in.KubernetesVersionIdentity); err != nil {
			return err
		}
	}
	groups, err := configureCluster(o, r, &next, in)
	if err != nil {
		return err
	}
	*k = next
	k.Attach(groups)
	return nil
}

// configureCluster applies the settings of a body.
func configureCluster(o space, r *resource.Request, k *state.Cluster,
	in *wire.ClusterInput) (groups []*state.SecurityGroup, err error) {
	before := resource.Base(r, k.Settings, wire.ClusterSettings{})
	if k.Settings, err = resource.Overlay(r, before); err != nil {
		return nil, err
	}
	// The official client sends these as empty texts when they do not change.
	k.Settings.AutoUpgradePolicy = cmp.Or(k.Settings.AutoUpgradePolicy, before.AutoUpgradePolicy)
	k.Settings.AuditLogProfile = cmp.Or(k.Settings.AuditLogProfile, before.AuditLogProfile)
	k.Settings.PodSecurityStandardsProfile = cmp.Or(k.Settings.PodSecurityStandardsProfile,
		before.PodSecurityStandardsProfile)
	k.Networking.KubeProxyMode = cmp.Or(in.KubeProxyMode, k.Networking.KubeProxyMode)
	k.Networking.KubeProxyDeployment = cmp.Or(in.KubeProxyDeployment, k.Networking.KubeProxyDeployment)
	if err := k.Complete(); err != nil {
		return nil, err
	}
	switch {
	case in.SecurityGroupAttachments == nil && !r.Rules.ReplaceAll:
		return k.SecurityGroups, nil
	case k.Subnet == nil && len(in.SecurityGroupAttachments) > 0:
		return nil, apierror.Invalid("field \"securityGroupAttachments\" is only for clusters of type %s",
			state.Managed)
	case k.Subnet == nil:
		return nil, nil
	}
	return o.SecurityGroupsIn(k.Subnet.VPC, in.SecurityGroupAttachments)
}

func releaseCluster(_ space, _ *resource.Request, k *state.Cluster) error {
	if k.Settings.DeleteProtection {
		return apierror.Conflict("Kubernetes cluster %q is protected from deletion; switch deleteProtection off first",
			k.Identity)
	}
	for p := range k.Pools.All() {
		if p.Active() {
			return apierror.Conflict("Kubernetes cluster %q is in use by node pool %q; delete that first", k.Identity,
				p.Identity)
		}
	}
	return nil
}
