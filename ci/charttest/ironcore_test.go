package charttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	ironcore "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// TestValuesOfTheOtherCloudAreRefused: every value that one of the clouds does not use, with its name.
func TestValuesOfTheOtherCloudAreRefused(t *testing.T) {
	entries, err := configfile.Describe(ironcore.Default(), ironcore.Keys())
	if err != nil {
		t.Fatal(err)
	}
	shared := []string{"cloudConfig.clusterCIDR", "cloudConfig.routes.enabled"}
	for _, entry := range entries {
		if entry.Path != "formerClusterUIDs" { // both have a value of their own
			shared = append(shared, valueOf(entry.Path))
		}
	}
	another := anotherValues(t)
	for _, path := range documented(t) {
		section, _, _ := strings.Cut(path, ".")
		base, other := Iron(), "thalassa"
		switch {
		case section == "ironcore":
			base, other = nil, "ironcore"
		case strings.HasPrefix(path, "cloudConfig.existing.") || slices.Contains(shared, path),
			!slices.Contains([]string{"cloudConfig", "advanced", "credentials", "caBundle"}, section):
			continue
		}
		values := merge(minimal(t, base...), nest(path, another[path]))
		got := sentences(t, refusal(t, values))
		want := path + " is only for cloud=" + other + ": "
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("the chart says %q, want one sentence that begins with %q", got, want)
		}
	}
}

// anotherValues are valid values that are not the defaults, by their paths.
func anotherValues(t *testing.T) map[string]any {
	t.Helper()
	found, defaults := map[string]any{}, defaults(t)
	for _, file := range valuesFiles(t) {
		values := readValues(t, file)
		for _, path := range documented(t) {
			deflt, _ := lookUp(defaults, path)
			if got, set := lookUp(values, path); set && got != nil && !cmp.Equal(got, deflt) {
				found[path] = got
			}
		}
	}
	return found
}

// TestIronCoreConfig: the file contains every key of the program, with the values of the chart.
func TestIronCoreConfig(t *testing.T) {
	want := map[string]any{
		"networkName": "nodes", "prefixName": "internal", "prefixNameIPv6": "internal6", "clusterName": "production",
		"namespace":         "tenant",
		"formerClusterUIDs": "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
		"loadBalancer":      map[string]any{"creationPollTimeout": 7.0, "drift": "report", "removeOrphans": true},
		"instancesV2": map[string]any{"removalGracePeriod": 8.0, "maxRemovals": 9.0, "removalWindow": 70.0,
			"dryRun": true},
		"api": map[string]any{"callTimeout": 11.0, "requestsPerSecond": 12.0, "burst": 13.0},
	}
	got := cloudConfig(t, Iron("ironcore.prefixName=internal", "ironcore.prefixNameIPv6=internal6",
		"ironcore.namespace=tenant",
		"ironcore.formerClusterUIDs=0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
		"cloudConfig.loadBalancer.creationPollTimeout=7", "cloudConfig.loadBalancer.drift=report",
		"cloudConfig.loadBalancer.removeOrphans=true", "cloudConfig.instancesV2.removalGracePeriod=8",
		"cloudConfig.instancesV2.maxRemovals=9", "cloudConfig.instancesV2.removalWindow=70",
		"cloudConfig.instancesV2.dryRun=true", "cloudConfig.api.callTimeout=11", "cloudConfig.api.requestsPerSecond=12",
		"advanced.api.burst=13")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(keys(ironcore.Keys()))), leaves("", got)); diff != "" {
		t.Errorf("keys (-program +file):\n%s", diff)
	}
}

// leaves are the sorted paths of all values.
func leaves(path string, values map[string]any) []string {
	var found []string
	for key, value := range values {
		path := strings.TrimPrefix(path+"."+key, ".")
		if inner, isMap := value.(map[string]any); isMap {
			found = append(found, leaves(path, inner)...)
			continue
		}
		found = append(found, path)
	}
	slices.Sort(found)
	return found
}

// keys returns the keys by their paths.
func keys(all []configfile.Key) map[string]configfile.Key {
	found := map[string]configfile.Key{}
	for _, key := range all {
		found[key.Path] = key
	}
	return found
}

// TestSharedKeysAreTheSame: one value of the chart is a key of both clouds only if both have the same default and the
// same bounds. The exception is refused by the chart with IronCore.
func TestSharedKeysAreTheSame(t *testing.T) {
	describe := func(defaults any, all []configfile.Key) map[string]string {
		entries, err := configfile.Describe(defaults, all)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, entry := range entries {
			found[entry.Path] = fmt.Sprint(entry.Type, " ", entry.Default, " ", entry.Rule.Min, " ", entry.Rule.Max)
		}
		return found
	}
	thalassa := describe(cloudconfig.Default(), cloudconfig.Keys())
	seen := 0
	for path, got := range describe(ironcore.Default(), ironcore.Keys()) {
		if slices.Contains([]string{"networkName", "prefixName", "prefixNameIPv6", "clusterName", "namespace"}, path) {
			continue
		}
		seen++
		if path == "loadBalancer.creationPollTimeout" {
			got = strings.Replace(got, " 1 ", " 0 ", 1)
		}
		if got != thalassa[path] {
			t.Errorf("%s: %q with IronCore, %q with Thalassa Cloud", path, got, thalassa[path])
		}
	}
	if seen == 0 {
		t.Error("there are no shared keys")
	}
}

// TestIronCoreFlags: the flags of the cloud, and no other cloud's.
func TestIronCoreFlags(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want map[string]string
	}{
		"default": {nil, map[string]string{"cloud-provider": "ironcore", "cluster-name": "production",
			"configure-cloud-routes": "false", "use-nic-selector": "true", "cluster-cidr": "",
			"ironcore-kubeconfig": "/etc/thalassa-ccm/ironcore/kubeconfig"}},
		"others": {[]string{"ironcore.useNICSelector=false", "ironcore.kubeconfig.key=a",
			"cloudConfig.routes.enabled=true", "cloudConfig.clusterCIDR=10.244.0.0/16"},
			map[string]string{"configure-cloud-routes": "true",
				"use-nic-selector": "false", "cluster-cidr": "10.244.0.0/16",
				"ironcore-kubeconfig": "/etc/thalassa-ccm/ironcore/a"}},
		"null": {[]string{"ironcore.useNICSelector=null"}, map[string]string{"use-nic-selector": "true"}},
		"allocated networks": {[]string{"allocateNodeCIDRs.enabled=true", "cloudConfig.clusterCIDR=10.244.0.0/16"},
			map[string]string{"cluster-cidr": "10.244.0.0/16", "allocate-node-cidrs": "true"}},
	} {
		got := flags(t, Iron(test.sets...)...)
		for flag, want := range test.want {
			if got[flag] != want {
				t.Errorf("%s: --%s=%s, want %s", name, flag, got[flag], want)
			}
		}
	}
	for flag := range flags(t) {
		if slices.Contains([]string{"ironcore-kubeconfig", "use-nic-selector", "configure-cloud-routes"}, flag) {
			t.Errorf("--%s is rendered with cloud thalassa", flag)
		}
	}
}

// TestIronCoreKubeconfig is a whole directory, so that a change of the Secret reaches the pod; the credentials of the
// other cloud are not mounted.
func TestIronCoreKubeconfig(t *testing.T) {
	const content = "ironcore.kubeconfig.content=current-context"
	for want, sets := range map[string][]string{
		"ironcore-kubeconfig":   nil,
		"thalassa-ccm-ironcore": {"ironcore.kubeconfig.existingSecret=", content},
	} {
		mounted, mount := volume(t, "ironcore", Iron(sets...)...)
		if mounted.Secret == nil || mounted.Secret.SecretName != want ||
			mount.MountPath != "/etc/thalassa-ccm/ironcore" {
			t.Errorf("volume %+v at %s, want Secret %s", mounted, mount.MountPath, want)
		}
		if mode := *mounted.Secret.DefaultMode; mode&0o007 != 0 {
			t.Errorf("mode %o lets others read the kubeconfig", mode)
		}
		for _, other := range container(t, Iron(sets...)...).VolumeMounts {
			if other.Name == "credentials" || other.Name == "token" {
				t.Errorf("%s is mounted", other.Name)
			}
		}
	}
	text, notes := manifestAndNotes(t, minimal(t, Iron("ironcore.kubeconfig.existingSecret=", content)...))
	if strings.Contains(text+notes, "current-context") || !strings.Contains(notes, "WARNING") {
		t.Errorf("the kubeconfig can be read, or there is no warning:\n%s", notes)
	}
}

// TestPermissionsInIronCore: the part for IronCore's API server is what the guide's table lists, and nothing else, with
// each profile.
func TestPermissionsInIronCore(t *testing.T) {
	for _, profile := range []string{"self-managed", "managed"} {
		rendered := objects(t, minimal(t, inCloud("profile="+profile, "ironcore.namespace=tenant",
			"networkPolicy.enabled="+fmt.Sprint(profile == "managed"), "rules.enabled=true")...))
		want := []string{"ClusterRole thalassa-ccm-tenant", "ClusterRoleBinding thalassa-ccm-tenant",
			"Role thalassa-ccm", "RoleBinding thalassa-ccm"}
		if diff := cmp.Diff(want, kindNames(t, rendered)); diff != "" {
			t.Errorf("%s: objects (-want +got):\n%s", profile, diff)
		}
		role := find[*rbacv1.Role](t, rendered, "thalassa-ccm")
		binding := find[*rbacv1.RoleBinding](t, rendered, "thalassa-ccm")
		if role.Namespace != "tenant" || binding.Namespace != "tenant" {
			t.Errorf("Role in %s, RoleBinding in %s, want tenant", role.Namespace, binding.Namespace)
		}
		ofCluster := find[*rbacv1.ClusterRoleBinding](t, rendered, "thalassa-ccm-tenant").RoleRef
		if ofCluster.Kind+" "+ofCluster.Name != "ClusterRole thalassa-ccm-tenant" ||
			binding.RoleRef.Kind+" "+binding.RoleRef.Name != "Role thalassa-ccm" {
			t.Errorf("%s: bound to %+v and %+v", profile, ofCluster, binding.RoleRef)
		}
		got := map[string]map[string][]string{"the namespace": grants(role.Rules),
			"the cluster": grants(find[*rbacv1.ClusterRole](t, rendered, "thalassa-ccm-tenant").Rules)}
		if diff := cmp.Diff(guidePermissions(t), got); diff != "" {
			t.Errorf("%s: permissions (-guide +chart):\n%s", profile, diff)
		}
	}
	for _, object := range objects(t, minimal(t, inCloud("rbac.create=false")...)) {
		t.Errorf("without rbac.create there is a %T", object)
	}
}

// guidePermissions reads the table in the guide: verbs by resource, by where they are needed.
func guidePermissions(t *testing.T) map[string]map[string][]string {
	t.Helper()
	const head = "| Resources | Verbs | Where |\n|---|---|---|\n"
	_, rest, found := strings.Cut(readCheckout(t, "docs/guides/ironcore.md"), head)
	table, _, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("the guide has no table of permissions")
	}
	listed := map[string]map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) != 3 {
			t.Fatalf("%q has not three cells", line)
		}
		if listed[cells[2]] == nil {
			listed[cells[2]] = map[string][]string{}
		}
		for resource := range strings.SplitSeq(cells[0], ", ") {
			resource = strings.Trim(resource, "`")
			group := "networking.ironcore.dev/"
			if strings.HasPrefix(resource, "machine") {
				group = "compute.ironcore.dev/"
			}
			verbs := strings.Split(cells[1], ", ")
			slices.Sort(verbs)
			listed[cells[2]][group+resource] = verbs
		}
	}
	return listed
}

// TestIdentityInIronCore: both bindings are for the identity of the kubeconfig, in the namespace of the release unless
// another one is set.
func TestIdentityInIronCore(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want rbacv1.Subject
	}{
		"user": {nil, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ccm"}},
		"account": {[]string{"ironcore.subject.kind=ServiceAccount", "ironcore.subject.namespace=tenant"},
			rbacv1.Subject{Kind: "ServiceAccount", Name: "ccm", Namespace: "tenant"}},
	} {
		rendered := objects(t, minimal(t, inCloud(test.sets...)...))
		want := []rbacv1.Subject{test.want, test.want}
		if diff := cmp.Diff(want, subjects(rendered)); diff != "" {
			t.Errorf("%s: subjects (-want +got):\n%s", name, diff)
		}
		if got := find[*rbacv1.Role](t, rendered, "thalassa-ccm").Namespace; got != "kube-system" {
			t.Errorf("%s: the Role is in %s, want the namespace of the release", name, got)
		}
	}
}

// TestClustersInOneIronCore: two clusters, whose releases have the same name, have no object in common.
func TestClustersInOneIronCore(t *testing.T) {
	names := func(namespace string) []string {
		var found []string
		for _, object := range objects(t, minimal(t, inCloud("ironcore.namespace="+namespace)...)) {
			m := accessor(t, object)
			kind := object.GetObjectKind().GroupVersionKind().Kind
			found = append(found, kind+" "+namespaceOf(object)+"/"+m.GetName())
		}
		return found
	}
	for _, name := range names("a") {
		if slices.Contains(names("b"), name) {
			t.Errorf("both have %s", name)
		}
	}
}

func namespaceOf(object runtime.Object) string {
	if m, ok := object.(interface{ GetNamespace() string }); ok {
		return m.GetNamespace()
	}
	return ""
}

// TestServedClusterIsTheSame: permissions in the served cluster do not depend on the cloud, except for the name of the
// cloud's own account.
func TestServedClusterIsTheSame(t *testing.T) {
	accounts := []string{"useServiceAccountCredentials.enabled=true",
		"useServiceAccountCredentials.createAccounts=true"}
	for _, more := range [][]string{nil, accounts} {
		want := manifest(t, release(minimal(t, tenant(more...)...)))
		got := manifest(t, release(minimal(t, tenant(append(more, "cloud=ironcore")...)...)))
		got = strings.ReplaceAll(got, "cloud-provider-ironcore", "cloud-provider-thalassa")
		if diff := cmp.Diff(strings.Split(want, "---\n"), strings.Split(got, "---\n"), sortedTexts()); diff != "" {
			t.Errorf("%q: objects (-thalassa +ironcore):\n%s", more, diff)
		}
	}
}

// sortedTexts compares objects without their order, which follows from their names.
func sortedTexts() cmp.Option {
	return cmp.Transformer("sorted", func(texts []string) map[string]bool {
		found := map[string]bool{}
		for _, text := range texts {
			found[text] = true
		}
		return found
	})
}

// TestIronCoreNetworkPolicy permits connections to an API server of Kubernetes, and to the ports that are set.
func TestIronCoreNetworkPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want []int
	}{
		"default": {nil, []int{443, 6443}},
		"others":  {[]string{"networkPolicy.cloudAPI.ports={7443}"}, []int{7443}},
	} {
		sets := Iron(append([]string{"hostNetwork=false", "networkPolicy.enabled=true"}, test.sets...)...)
		policy := find[*networkingv1.NetworkPolicy](t, objects(t, minimal(t, sets...)), "thalassa-ccm")
		var got []int
		for _, port := range policy.Spec.Egress[2].Ports {
			got = append(got, port.Port.IntValue())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: ports %v, want %v", name, got, test.want)
		}
	}
}
