package state

import (
	"cmp"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The types of clusters.
const (
	Managed            = "managed"
	HostedControlPlane = "hosted-control-plane"
)

// KubernetesVersion is a version that clusters and node pools can have.
type KubernetesVersion struct{ wire.KubernetesVersion }

// Key implements object.Keyed.
func (v *KubernetesVersion) Key() (identity, slug string) { return v.Identity, v.Slug }

// Nested implements object.Described.
func (v *KubernetesVersion) Nested() wire.Meta {
	return wire.Meta{Identity: v.Identity, Name: v.Name, Slug: v.Slug}
}

func (s *Store) seedKubernetesVersion(in seed.KubernetesVersion, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a version of Kubernetes needs a name")
	}
	if !in.CreatedAt.IsZero() {
		now = in.CreatedAt
	}
	return object.Insert(&s.KubernetesVersions, &KubernetesVersion{wire.KubernetesVersion{
		Identity: cmp.Or(in.Identity, object.NewIdentity("kv")), Name: in.Name, Slug: object.Slugify(in.Name),
		CreatedAt: now, Annotations: map[string]string{}, Enabled: !in.Disabled, Supported: !in.Disabled,
		Kubernetes: in.Name,
	}})
}

// KubernetesVersionFor resolves a version by identity, slug or name.
func (s *Store) KubernetesVersionFor(ref string) (*KubernetesVersion, error) {
	found, ok := s.KubernetesVersions.Find(ref)
	if !ok {
		found, ok = s.KubernetesVersions.Find(object.Slugify(ref))
	}
	switch {
	case !ok || ref == "":
		return nil, apierror.Invalid("field \"kubernetesVersionIdentity\": version %q not found", ref)
	case !found.Enabled:
		return nil, apierror.Invalid("field \"kubernetesVersionIdentity\": version %q is not enabled", ref)
	}
	return found, nil
}

// Cluster is a Kubernetes cluster. No Kubernetes runs in it.
type Cluster struct {
	object.Record
	object.Life
	Org    *Organisation
	Type   string
	Region *region
	// Subnet is nil if only the control plane is in the cloud.
	Subnet         *Subnet
	Version        *KubernetesVersion
	Networking     wire.ClusterNetworking
	Settings       wire.ClusterSettings
	SecurityGroups []*SecurityGroup
	Pools          object.Collection[*NodePool]
}

// provisioned is a phase in the words of clusters and node pools.
func provisioned(p object.Phase) string {
	if p == object.Creating {
		return "provisioning"
	}
	return p.String()
}

// View is the cluster as the API describes it.
func (k *Cluster) View(now time.Time) wire.Cluster {
	view := wire.Cluster{
		Identity: k.Identity, Name: k.Name, Slug: k.Slug, Description: k.Description, Labels: k.Labels,
		Annotations: k.Annotations, CreatedAt: k.CreatedAt, ObjectVersion: k.ObjectVersion,
		Organisation: k.Org.Short(), Status: provisioned(k.At(now)),
		LastStatusTransitionedAt: k.Transition(k.CreatedAt, now), ClusterType: k.Type,
		ClusterVersion: &k.Version.KubernetesVersion,
		Configuration:  wire.ClusterConfiguration{Networking: k.Networking},
		Region:         k.Region.Short(), ClusterSettings: k.Settings,
	}
	if k.Subnet != nil {
		view.VPC, view.Subnet = k.Subnet.VPC.Short(), k.Subnet.Short()
		view.SecurityGroups = SecurityGroupViews(k.SecurityGroups, now)
	}
	return view
}

// Traits are the values of the cluster that filters of lists can name.
func (k *Cluster) Traits(now time.Time) object.Traits {
	has := k.Record.Traits().Reference("region", &k.Region.Record).With("status", provisioned(k.At(now)))
	if k.Subnet == nil {
		return has.With("vpc").With("subnet")
	}
	return has.Reference("vpc", &k.Subnet.VPC.Record).Reference("subnet", &k.Subnet.Record)
}

// Join adds a cluster to its organisation and subnet.
func (k *Cluster) Join(groups []*SecurityGroup) {
	if k.Subnet != nil {
		k.Subnet.Users.Add("Kubernetes cluster", k.Identity)
	}
	k.Attach(groups)
}

// Attach changes the security groups of the control plane.
func (k *Cluster) Attach(groups []*SecurityGroup) {
	k.SecurityGroups = Reattach("Kubernetes cluster", k.Identity, k.SecurityGroups, groups)
}

// Quit ends the use of other objects by a deleted cluster.
func (k *Cluster) Quit() {
	k.Attach(nil)
	if k.Subnet != nil {
		k.Subnet.Users.Remove("Kubernetes cluster", k.Identity)
	}
}
