package charttest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	cloudprovidernames "k8s.io/cloud-provider/names"
)

// TestControllers wants the values to have the names the program has, and a controller that is off to be off.
func TestControllers(t *testing.T) {
	known := []string{cloudprovidernames.CloudNodeController, cloudprovidernames.CloudNodeLifecycleController,
		cloudprovidernames.ServiceLBController}
	slices.Sort(known)
	values, _ := defaults(t)["controllers"].(map[string]any)
	if diff := cmp.Diff(known, slices.Sorted(maps.Keys(values))); diff != "" {
		t.Errorf("controllers (-program +values); routes the cloud does not have:\n%s", diff)
	}
	for want, sets := range map[string][]string{
		"":                         nil,
		"*,-service-lb-controller": {"controllers.service-lb-controller=false"},
		"*,-cloud-node-controller,-cloud-node-lifecycle-controller,-service-lb-controller": {
			"controllers.service-lb-controller=false", "controllers.cloud-node-controller=false",
			"controllers.cloud-node-lifecycle-controller=false"},
	} {
		if got := flags(t, sets...)["controllers"]; got != want {
			t.Errorf("%q: --controllers=%s, want %s", sets, got, want)
		}
	}
}

// TestPermissionsFollowControllers: what is off needs nothing.
func TestPermissionsFollowControllers(t *testing.T) {
	always := map[string][]string{
		"events": {"create", "patch"}, "authentication.k8s.io/tokenreviews": {"create"},
		"authorization.k8s.io/subjectaccessreviews": {"create"},
	}
	noLifecycle := map[string][]string{"nodes": {"list", "patch", "watch"}, "nodes/status": {"patch"},
		"services": {"list", "watch"}, "services/status": {"patch"}, "discovery.k8s.io/endpointslices": {"list",
			"watch"}}
	onlyLifecycle := map[string][]string{"nodes": {"delete", "get", "list", "patch", "watch"}}
	onlyServices := map[string][]string{"nodes": {"list", "watch"}, "services": {"list", "watch"},
		"services/status":                 {"patch"},
		"discovery.k8s.io/endpointslices": {"list", "watch"}}
	onlyNodes := map[string][]string{"nodes": {"delete", "get", "list", "patch", "watch"}, "nodes/status": {"patch"}}
	for name, test := range map[string]struct {
		sets []string
		want map[string][]string
	}{
		"no life cycle": {[]string{"controllers.cloud-node-lifecycle-controller=false"}, noLifecycle},
		"only life cycle": {[]string{"controllers.cloud-node-controller=false",
			"controllers.service-lb-controller=false"}, onlyLifecycle},
		"only services": {[]string{"cloudConfig.instancesV2.enabled=false"}, onlyServices},
		"only nodes":    {[]string{"cloudConfig.loadBalancer.enabled=false"}, onlyNodes},
		"nothing": {[]string{"cloudConfig.instancesV2.enabled=false",
			"controllers.service-lb-controller=false"}, nil},
		"it is not known": {whole("controllers.cloud-node-lifecycle-controller=false"), noLifecycle},
		"both say no twice": {[]string{"cloudConfig.loadBalancer.enabled=false",
			"controllers.service-lb-controller=false"}, onlyNodes},
	} {
		want := maps.Clone(always)
		maps.Copy(want, test.want)
		role := find[*rbacv1.ClusterRole](t, objects(t, minimal(t, test.sets...)), "thalassa-ccm")
		if diff := cmp.Diff(want, grants(role.Rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// whole is what an installation with a configuration file of its own says.
func whole(more ...string) []string {
	return append([]string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"cloudConfig.existing.name=mine"}, more...)
}

// TestAccountsOfControllers wants each account to have what its controller needs and no more, and tokens of no other.
func TestAccountsOfControllers(t *testing.T) {
	const enabled = "useServiceAccountCredentials.enabled=true"
	rendered := objects(t, minimal(t, enabled))
	events := []string{"create", "patch"}
	for name, want := range map[string]map[string][]string{
		"thalassa-ccm": {"nodes": {"list", "watch"}, "services": {"list", "watch"}, "events": {"create"},
			"discovery.k8s.io/endpointslices":    {"list", "watch"},
			"authentication.k8s.io/tokenreviews": {"create"}, "authorization.k8s.io/subjectaccessreviews": {"create"}},
		"thalassa-ccm-node-controller": {"nodes": {"delete", "get", "patch"}, "nodes/status": {"patch"},
			"events": events},
		"thalassa-ccm-service-controller":      {"services/status": {"patch"}, "events": events},
		"thalassa-ccm-cloud-provider-thalassa": {"events": events},
	} {
		if diff := cmp.Diff(want, grants(find[*rbacv1.ClusterRole](t, rendered, name).Rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		account, suffixed := strings.CutPrefix(name, "thalassa-ccm-")
		if !suffixed {
			continue
		}
		binding := find[*rbacv1.ClusterRoleBinding](t, rendered, name)
		if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "kube-system"}},
			binding.Subjects); diff != "" || binding.RoleRef.Name != name {
			t.Errorf("%s is bound to %s (-want +got):\n%s", name, binding.RoleRef.Name, diff)
		}
	}
	role := grants(find[*rbacv1.Role](t, rendered, "thalassa-ccm").Rules)
	for _, account := range []string{"node-controller", "service-controller", "cloud-provider-thalassa"} {
		if diff := cmp.Diff([]string{"get"}, role["serviceaccounts:"+account]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", account, diff)
		}
		if diff := cmp.Diff([]string{"create"}, role["serviceaccounts/token:"+account]); diff != "" {
			t.Errorf("tokens of %s (-want +got):\n%s", account, diff)
		}
	}
	if role["serviceaccounts/token"] != nil {
		t.Error("tokens of every account may be made")
	}
	if flags(t, enabled)["use-service-account-credentials"] != "true" {
		t.Error("the program does not get it")
	}
}

// TestAccountsOfWhatIsConfigured: the cloud has something to say about files with secrets only, and whether a Service
// is gone is asked only before something is removed.
func TestAccountsOfWhatIsConfigured(t *testing.T) {
	const enabled = "useServiceAccountCredentials.enabled=true"
	identity := []string{enabled, "credentials.existingSecret=", "credentials.workloadIdentity.enabled=true",
		"credentials.workloadIdentity.serviceAccountID=sa-1"}
	idle := []string{"controllers.cloud-node-controller=false", "controllers.cloud-node-lifecycle-controller=false",
		"controllers.service-lb-controller=false"}
	const cloud, nodes, services = "cloud-provider-thalassa", "node-controller", "service-controller"
	for name, test := range map[string]struct {
		sets, accounts []string
		asks           bool
	}{
		"a Secret":            {[]string{enabled}, []string{cloud, nodes, services}, false},
		"a workload identity": {identity, []string{nodes, services}, false},
		"and certificates": {append(slices.Clone(identity), "caBundle.existing.name=a"),
			[]string{cloud, nodes, services}, false},
		"a workload identity and no work": {append(slices.Clone(identity), idle...), nil, false},
		"orphans are removed": {[]string{enabled, "cloudConfig.loadBalancer.removeOrphans=true"},
			[]string{cloud, nodes, services}, true},
		"a file of which nothing is known": {append(whole(enabled), "credentials.existingSecret="),
			[]string{cloud, nodes, services}, true},
	} {
		rendered := objects(t, minimal(t, test.sets...))
		role := grants(find[*rbacv1.Role](t, rendered, "thalassa-ccm").Rules)
		for _, account := range []string{cloud, nodes, services} {
			want := slices.Contains(test.accounts, account)
			if has := slices.Contains(kindNames(t, rendered), "ClusterRole thalassa-ccm-"+account); has != want ||
				(role["serviceaccounts/token:"+account] != nil) != want {
				t.Errorf("%s: account %s has a role: %v, and tokens: %v, want %v", name, account, has,
					role["serviceaccounts/token:"+account], want)
			}
		}
		if role["serviceaccounts/token"] != nil {
			t.Errorf("%s: tokens of every account may be made", name)
		}
		if test.accounts == nil {
			continue
		}
		asks := grants(find[*rbacv1.ClusterRole](t, rendered, "thalassa-ccm-"+services).Rules)["services"] != nil
		if asks != test.asks {
			t.Errorf("%s: the service controller may list Services: %v, want %v", name, asks, test.asks)
		}
	}
}

// TestAccountsCanBePartOfTheRelease: then the program makes none.
func TestAccountsCanBePartOfTheRelease(t *testing.T) {
	rendered := objects(t, minimal(t, "useServiceAccountCredentials.enabled=true",
		"useServiceAccountCredentials.createAccounts=true",
		"controllers.cloud-node-controller=false", "controllers.cloud-node-lifecycle-controller=false"))
	for _, name := range []string{"service-controller", "cloud-provider-thalassa"} {
		account := find[*corev1.ServiceAccount](t, rendered, name)
		if account.Namespace != "kube-system" || isTrue(account.AutomountServiceAccountToken) {
			t.Errorf("account %+v, want one in kube-system that gives no pod its token", account)
		}
	}
	if slices.Contains(kindNames(t, rendered), "ServiceAccount node-controller") {
		t.Error("there is an account for a controller that is off")
	}
	if grants(find[*rbacv1.Role](t, rendered, "thalassa-ccm").Rules)["serviceaccounts"] != nil {
		t.Error("the program may make accounts")
	}
}

// TestWholeConfig follows --cloud-config to a file that the chart does not make.
func TestWholeConfig(t *testing.T) {
	secret, mount := volume(t, "config", whole()...)
	if secret.Secret == nil || secret.Secret.SecretName != "mine" || *secret.Secret.DefaultMode&0o007 != 0 {
		t.Errorf("volume %+v, want Secret mine, closed to others", secret)
	}
	if got, want := flags(t, whole("cloudConfig.existing.key=file.yaml")...)["cloud-config"], mount.MountPath+
		"/file.yaml"; got != want {
		t.Errorf("--cloud-config=%s, want %s", got, want)
	}
	configMap, _ := volume(t, "config", whole("cloudConfig.existing.kind=ConfigMap")...)
	if configMap.ConfigMap == nil || configMap.ConfigMap.Name != "mine" {
		t.Errorf("volume %+v, want ConfigMap mine", configMap)
	}
	rendered := objects(t, minimal(t, whole()...))
	if kindsOf(rendered)["ConfigMap"] > 0 {
		t.Error("there is a second configuration")
	}
	if _, found := podTemplate(rendered).Annotations["checksum/config"]; found {
		t.Error("there is a checksum of an object the chart does not render")
	}
	without := podTemplate(objects(t, minimal(t, whole("credentials.existingSecret=")...))).Spec
	if len(without.Volumes) != 1 {
		t.Errorf("volumes %v, want the configuration, which may hold everything", without.Volumes)
	}
}

// TestWholeConfigExcludesKeys wants every key of the file to be refused beside a whole file, and no default to be.
func TestWholeConfigExcludesKeys(t *testing.T) {
	entries, err := configfile.Describe(cloudconfig.Default(), cloudconfig.Keys())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Path, "cloudCredentials.") || entry.Path == "caBundle" {
			continue
		}
		path := valueOf(entry.Path)
		set := path + "=" + map[string]string{configfile.TypeNumber: "7", configfile.TypeText: "https://a",
			configfile.TypeBool: "false"}[entry.Type]
		switch {
		case entry.Default == "false":
			set = path + "=true"
		case entry.Path == "instancesV2.removalWindow": // which is not as short as others may be
			set = "cloudConfig.instancesV2.removalWindow=70"
		case entry.Path == "clusterCIDR":
			set = "cloudConfig.clusterCIDR=10.244.0.0/16"
		case entry.Path == "formerClusterUIDs":
			set = "cloudConfig.formerClusterUIDs=0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
		case entry.Path == "loadBalancer.drift":
			set = "cloudConfig.loadBalancer.drift=report"
		case entry.Path == "loadBalancer.defaults":
			set = "cloudConfig.loadBalancer.defaults.publish=ip"
		case entry.Type == configfile.TypeMapping:
			set = path + ".a=b"
		case entry.Type == configfile.TypeText && entry.Path != "endpoint":
			set = path + "=a"
		}
		got := sentences(t, refusal(t, minimal(t, whole(set)...)))
		if want := path + " and cloudConfig.existing.name exclude each other: "; len(got) != 1 ||
			!strings.HasPrefix(got[0], want) {
			t.Errorf("%s: the chart says %q, want one sentence that begins with %q", set, got, want)
		}
	}
}

// valueOf is the value that is a key of the configuration file.
func valueOf(key string) string {
	if strings.HasPrefix(key, "inventory.") || key == "api.burst" {
		return "advanced." + key
	}
	if slices.Contains([]string{"networkName", "prefixName", "prefixNameIPv6", "clusterName", "namespace"}, key) {
		return "ironcore." + key
	}
	return "cloudConfig." + key
}

// TestCreatedCredentials wants them in the Secret that is mounted, and nowhere else.
func TestCreatedCredentials(t *testing.T) {
	create := func(more ...string) []string {
		return append([]string{"credentials.existingSecret=", "credentials.create.enabled=true"}, more...)
	}
	rendered := objects(t,
		minimal(t, create("credentials.create.clientID=me", "credentials.create.clientSecret=hunter2")...))
	secret := find[*corev1.Secret](t, rendered, "thalassa-ccm-credentials")
	if diff := cmp.Diff(map[string][]byte{"clientID": []byte("me"), "clientSecret": []byte("hunter2")},
		secret.Data); diff != "" {
		t.Errorf("Secret (-want +got):\n%s", diff)
	}
	mounted, _ := volume(t, "credentials", create("credentials.create.personalAccessToken=hunter2")...)
	if mounted.Secret == nil || mounted.Secret.SecretName != secret.Name {
		t.Errorf("volume %+v, want Secret %s", mounted, secret.Name)
	}
	text, notes := manifestAndNotes(t, minimal(t, create("credentials.create.personalAccessToken=hunter2")...))
	if strings.Contains(text+notes, "hunter2") {
		t.Error("the token can be read in the manifest or the notes")
	}
	if !strings.Contains(notes, "WARNING") {
		t.Errorf("there is no warning:\n%s", notes)
	}
	for want, sets := range map[string][]string{
		"credentials.create.personalAccessToken is required while ": create(),
		"credentials.create.clientID and credentials.create.clientSecret belong together: clientID ": create(
			"credentials.create.clientSecret=a"),
		"credentials.create.personalAccessToken and credentials.create.clientID exclude each other: ": create(
			"credentials.create.personalAccessToken=a", "credentials.create.clientID=a",
			"credentials.create.clientSecret=a"),
		"credentials.existingSecret and credentials.create.enabled exclude each other: ": create(
			"credentials.existingSecret=a", "credentials.create.personalAccessToken=a"),
		"credentials.create.enabled and credentials.workloadIdentity.enabled exclude each other: ": create(
			"credentials.create.personalAccessToken=a",
			"credentials.workloadIdentity.enabled=true", "credentials.workloadIdentity.serviceAccountID=a"),
	} {
		if got := sentences(t, refusal(t, minimal(t, sets...))); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("the chart says %q, want one sentence that begins with %q", got, want)
		}
	}
}

func TestGlobalValues(t *testing.T) {
	spec := pod(t, "global.imageRegistry=mirror:5000", "global.imagePullSecrets[0]=one",
		"global.imagePullSecrets[1].name=two", "imagePullSecrets[0].name=one").Spec
	if got := spec.Containers[0].Image; !strings.HasPrefix(got, "mirror:5000/thalassa-cloud/") {
		t.Errorf("image %s, want it from mirror:5000", got)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}},
		spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets (-want +got):\n%s", diff)
	}
}

// TestMetadataReachesEverything sets labels and annotations for all objects, in every values file.
func TestMetadataReachesEverything(t *testing.T) {
	for name, path := range valuesFiles(t) {
		values := readValues(t, path)
		values["commonLabels"] = map[string]any{"team": "platform"}
		values["commonAnnotations"] = map[string]any{"owner": "me"}
		rendered := objects(t, values)
		for _, object := range rendered {
			got, err := meta.Accessor(object)
			if err != nil {
				t.Fatal(err)
			}
			if got.GetName() == "proxy-settings" {
				continue // one of extraObjects, which are installed as they are
			}
			if got.GetLabels()["team"] != "platform" || got.GetAnnotations()["owner"] != "me" ||
				got.GetLabels()["k8s-app"] != "cloud-controller-manager" {
				t.Errorf("%s: %T %s has labels %v and annotations %v", name, object, got.GetName(), got.GetLabels(),
					got.GetAnnotations())
			}
		}
		if template := podTemplate(rendered); template != nil && (template.Labels["team"] != "platform" ||
			template.Annotations["owner"] != "me") {
			t.Errorf("%s: the pods have labels %v and annotations %v", name, template.Labels, template.Annotations)
		}
	}
}

// TestNotesAboutTheImage: a release names its image by digest and says nothing; what was built by hand is not called
// unpublished; a tag that has no effect is reported.
func TestNotesAboutTheImage(t *testing.T) {
	digest := "image.digest=sha256:" + strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		set  []string
		want string
	}{
		"sources":        {nil, "This chart is not from a release: "},
		"release":        {[]string{digest}, ""},
		"own":            {[]string{"image.tag=mine"}, ""},
		"tag and digest": {[]string{digest, "image.tag=mine"}, `WARNING: image.tag "mine" is ignored`},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes := manifestAndNotes(t, minimal(t, test.set...))
			for _, sentence := range []string{"This chart is not from a release: ",
				`WARNING: image.tag "mine" is ignored`} {
				if got, want := strings.Contains(notes, sentence), sentence == test.want; got != want {
					t.Errorf("%q is said: %t, want %t\n%s", sentence, got, want, notes)
				}
			}
		})
	}
}
