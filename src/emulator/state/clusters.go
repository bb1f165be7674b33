package state

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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
	if err := object.CheckName(in.Name); err != nil {
		return err
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

// kubernetesVersion finds a version by identity, slug or name.
func (s *Store) kubernetesVersion(ref string) (*KubernetesVersion, bool) {
	if found, ok := s.KubernetesVersions.Find(ref); ok {
		return found, true
	}
	return s.KubernetesVersions.Find(object.Slugify(ref))
}

// newestKubernetesVersion is the newest version that can be chosen.
func (s *Store) newestKubernetesVersion() (newest *KubernetesVersion, found bool) {
	for v := range s.KubernetesVersions.All() {
		if v.Enabled && (!found || slices.Compare(v.numbers(), newest.numbers()) > 0) {
			newest, found = v, true
		}
	}
	return newest, found
}

// numbers are those of a name such as 1.34.1.
func (v *KubernetesVersion) numbers() (numbers []int) {
	for part := range strings.SplitSeq(v.Name, ".") {
		number, _ := strconv.Atoi(part)
		numbers = append(numbers, number)
	}
	return numbers
}

// KubernetesVersionFor resolves a version that can be chosen; an empty reference means the newest one.
func (s *Store) KubernetesVersionFor(ref string) (*KubernetesVersion, error) {
	found, ok := s.kubernetesVersion(ref)
	if ref == "" {
		found, ok = s.newestKubernetesVersion()
	}
	switch {
	case !ok:
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

// Depart ends what the cluster is part of.
func (k *Cluster) Depart() {
	k.Org.Leave(&k.Life, k.Quit, func() { k.Org.Clusters.Remove(k) })
}

// Complete fills in what the creator of the cluster left out, and checks the rest.
func (k *Cluster) Complete() error {
	settings := &k.Settings
	settings.PodSecurityStandardsProfile = cmp.Or(settings.PodSecurityStandardsProfile, "baseline")
	settings.AuditLogProfile = cmp.Or(settings.AuditLogProfile, "none")
	settings.AutoUpgradePolicy = cmp.Or(settings.AutoUpgradePolicy, "none")
	settings.APIServerACL.AllowedCIDRs = object.List(settings.APIServerACL.AllowedCIDRs)
	network := &k.Networking
	network.CNI = cmp.Or(network.CNI, "cilium")
	network.KubeProxyMode = cmp.Or(network.KubeProxyMode, "ipvs")
	network.KubeProxyDeployment = cmp.Or(network.KubeProxyDeployment, "managed")
	network.ServiceCIDR = cmp.Or(network.ServiceCIDR, "10.96.0.0/12")
	network.PodCIDR = cmp.Or(network.PodCIDR, "10.244.0.0/16")
	var vpc []netip.Prefix
	if k.Subnet != nil && !k.Org.Store.restoring {
		vpc = k.Subnet.VPC.CIDRs
	}
	return cmp.Or(k.checkSettings(), k.checkRanges(vpc))
}

func (k *Cluster) checkSettings() error {
	for _, setting := range []struct {
		field, value string
		known        []string
	}{
		{"podSecurityStandardsProfile", k.Settings.PodSecurityStandardsProfile,
			[]string{"restricted", "baseline", "privileged"}},
		{"auditLogProfile", k.Settings.AuditLogProfile, []string{"none", "basic", "advanced"}},
		{"defaultNetworkPolicy", k.Settings.DefaultNetworkPolicy, []string{"", "allow-all", "deny", "deny-all"}},
		{"autoUpgradePolicy", k.Settings.AutoUpgradePolicy, []string{"none", "latest-version", "latest-stable"}},
		{"kubeProxyMode", k.Networking.KubeProxyMode, []string{"ipvs", "iptables"}},
		{"kubeProxyDeployment", k.Networking.KubeProxyDeployment, []string{"managed", "custom", "disabled"}},
	} {
		if err := object.OneOf(setting.field, setting.value, setting.known...); err != nil {
			return err
		}
	}
	for i, text := range k.Settings.APIServerACL.AllowedCIDRs {
		_, notPrefix := netip.ParsePrefix(text)
		if _, err := netip.ParseAddr(text); err != nil && notPrefix != nil {
			return apierror.Invalid("field \"apiServerACL.allowedCIDRs[%d]\": %q is neither a CIDR nor an IP "+
				"address", i, text)
		}
	}
	return nil
}

// checkRanges refuses ranges of pods and services that overlap each other or the VPC.
func (k *Cluster) checkRanges(vpc []netip.Prefix) error {
	taken := map[string][]netip.Prefix{"VPC": vpc}
	for _, part := range []struct{ field, text string }{
		{"serviceCidr", k.Networking.ServiceCIDR}, {"podCidr", k.Networking.PodCIDR},
	} {
		cidr, err := ParseNetwork(part.field, part.text)
		if err != nil {
			return err
		}
		for _, other := range slices.Sorted(maps.Keys(taken)) {
			if slices.ContainsFunc(taken[other], cidr.Overlaps) {
				return apierror.Invalid("field %q: %s overlaps the %s, which has %v", part.field, cidr, other,
					taken[other])
			}
		}
		taken[part.field] = []netip.Prefix{cidr}
	}
	return nil
}

func (o *Organisation) seedCluster(in *seed.Cluster, now time.Time) error {
	k := &Cluster{Org: o, Type: cmp.Or(in.Type, Managed), Networking: in.Networking.Value, Settings: in.Settings.Value,
		Life: revived(in.Life), Record: recorded("k8s", in.Object, o.Clusters.HasSlug, now)}
	if err := checkNew(o.Store, &o.Clusters, checked{kind: "Kubernetes cluster", object: in.Object, life: in.Life,
		now: now}); err != nil {
		return err
	}
	groups, err := k.seedPlace(in)
	if err != nil {
		return err
	}
	var found bool
	k.Version, found = o.Store.kubernetesVersion(in.Version)
	if in.Version == "" {
		k.Version, found = o.Store.newestKubernetesVersion()
	}
	if !found {
		return fmt.Errorf("field \"version\": version %q not found", in.Version)
	}
	if err := cmp.Or(k.Complete(), object.Insert(&o.Clusters, k)); err != nil {
		return err
	}
	k.Join(groups)
	err = seed.Each("nodePools", "node pool", in.NodePools,
		func(p *seed.NodePool) (string, error) { return p.Name, k.seedNodePool(p, now) })
	if err == nil && in.Removed() {
		k.Depart()
	}
	return err
}

// seedPlace finds the subnet of a managed cluster, or the region of another one.
func (k *Cluster) seedPlace(in *seed.Cluster) (groups []*SecurityGroup, err error) {
	if err := object.OneOf("type", k.Type, Managed, HostedControlPlane); err != nil {
		return nil, err
	}
	if k.Type != Managed && (in.Subnet != "" || len(in.SecurityGroups) > 0 || len(in.NodePools) > 0) {
		return nil, fmt.Errorf("fields \"subnet\", \"securityGroups\" and \"nodePools\" are only for clusters of "+
			"type %s", Managed)
	}
	if k.Type != Managed {
		k.Region, err = required(&k.Org.Store.Regions, "region", "region", in.Region)
		return nil, err
	}
	if k.Subnet, err = required(&k.Org.Subnets, "subnet", "subnet", in.Subnet); err != nil {
		return nil, err
	}
	k.Region = k.Subnet.VPC.Region
	if home, found := k.Org.Store.Regions.Find(in.Region); in.Region != "" && (!found || home != k.Region) {
		return nil, fmt.Errorf("field \"region\": subnet %q is not in region %q", in.Subnet, in.Region)
	}
	return k.Org.SecurityGroupsIn(k.Subnet.VPC, in.SecurityGroups)
}

// describeClusters are the clusters with their node pools.
func (o *Organisation) describeClusters() (out []seed.Cluster) {
	for k := range o.Clusters.All() {
		cluster := seed.Cluster{Object: seed.Described(k.Meta), Life: lived(k.Life, ""), Type: k.Type,
			Region: k.Region.Identity, Version: k.Version.Identity,
			Networking:     seed.JSON[wire.ClusterNetworking]{Value: k.Networking},
			Settings:       seed.JSON[wire.ClusterSettings]{Value: k.Settings},
			SecurityGroups: identities(k.SecurityGroups)}
		if k.Subnet != nil {
			if !has(&o.Subnets, k.Subnet) {
				continue
			}
			cluster.Subnet = k.Subnet.Identity
		}
		for p := range k.Pools.All() {
			if has(&o.Subnets, p.Subnet) {
				cluster.NodePools = append(cluster.NodePools, p.describe())
			}
		}
		out = append(out, cluster)
	}
	return out
}
