package charttest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	corev1 "k8s.io/api/core/v1"
)

// identity is what an installation with a workload identity says.
func identity(more ...string) []string {
	return append([]string{"credentials.existingSecret=null", "credentials.workloadIdentity.enabled=true",
		"credentials.workloadIdentity.serviceAccountID=sa-1"}, more...)
}

// volume returns a volume of the pod and its mount.
func volume(t *testing.T, name string, sets ...string) (corev1.Volume, corev1.VolumeMount) {
	t.Helper()
	spec := daemonSet(t, sets...).Spec.Template.Spec
	index := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if index < 0 {
		t.Fatalf("no volume is called %s", name)
	}
	mount := mountOf(t, spec.Containers[0], name)
	if mount.SubPath != "" || !mount.ReadOnly {
		t.Errorf("mount %+v, want a whole directory, read-only: a change must reach the pod", mount)
	}
	return spec.Volumes[index], mount
}

// TestWorkloadIdentity follows the token from the projected volume to the configuration.
func TestWorkloadIdentity(t *testing.T) {
	token, mount := volume(t, "token", identity()...)
	expiration := int64(3600)
	want := []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
		Audience: "https://api.thalassa.cloud", ExpirationSeconds: &expiration, Path: "token"}}}
	if diff := cmp.Diff(want, token.Projected.Sources); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
	if mode := *token.Projected.DefaultMode; mode&0o007 != 0 {
		t.Errorf("mode %o lets others read the token", mode)
	}
	configured := cloudConfig(t, identity()...)["cloudCredentials"]
	wantConfig := map[string]any{"workloadIdentity": map[string]any{
		"serviceAccountID": "sa-1", "subjectTokenFile": path.Join(mount.MountPath, "token"), "lifetime": 3600.0}}
	if diff := cmp.Diff(wantConfig, configured); diff != "" {
		t.Errorf("cloudCredentials (-want +got):\n%s", diff)
	}
	for _, v := range daemonSet(t, identity()...).Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			t.Errorf("the pod waits for Secret %s", v.Secret.SecretName)
		}
	}
}

func TestCABundle(t *testing.T) {
	secret, mount := volume(t, "ca", "caBundle.existing.name=mine", "caBundle.existing.kind=Secret")
	if secret.Secret == nil || secret.Secret.SecretName != "mine" {
		t.Errorf("volume %+v, want Secret mine", secret)
	}
	if got, want := cloudConfig(t, "caBundle.existing.name=mine")["caBundle"],
		path.Join(mount.MountPath, "ca.crt"); got != want {
		t.Errorf("caBundle %v, want %s", got, want)
	}
	configMap, _ := volume(t, "ca", "caBundle.existing.name=mine")
	if configMap.ConfigMap == nil || configMap.ConfigMap.Name != "mine" {
		t.Errorf("volume %+v, want ConfigMap mine", configMap)
	}

	values := readValues(t, valuesFiles(t)["private-ca"])
	pem, _ := lookUp(values, "caBundle.pem")
	own := find[*corev1.ConfigMap](t, objects(t, values), "thalassa-ccm")
	if strings.TrimSpace(own.Data["ca.crt"]) != strings.TrimSpace(pem.(string)) {
		t.Errorf("ca.crt in the ConfigMap:\n%s\nwant:\n%s", own.Data["ca.crt"], pem)
	}
	if want := "caBundle: /etc/thalassa-ccm/config/ca.crt\n"; !strings.Contains(own.Data[configKey], want) {
		t.Errorf("the configuration lacks %s:\n%s", want, own.Data[configKey])
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		sets []string
		want string
	}{
		"Secret and identity": {identity("credentials.existingSecret=a"),
			"credentials.existingSecret and credentials.workloadIdentity.enabled exclude each other: "},
		"identity without account": {identity("credentials.workloadIdentity.serviceAccountID="),
			"credentials.workloadIdentity.serviceAccountID is required while "},
		"two bundles": {[]string{"caBundle.existing.name=a", "caBundle.pem=-----BEGIN CERTIFICATE-----"},
			"caBundle.pem and caBundle.existing.name exclude each other: "},
		"bundle without use": {[]string{"caBundle.existing.name=a", "cloudConfig.insecure=true"},
			"cloudConfig.insecure and caBundle exclude each other: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sentences(t, refusal(t, minimal(t, test.sets...))); len(got) != 1 ||
				!strings.HasPrefix(got[0], test.want) {
				t.Errorf("the chart says %q, want one sentence that begins with %q", got, test.want)
			}
		})
	}
}

// TestPodKnowsItself, and nothing that a node only has after the pod has run: kubelet starts no container that wants to
// know the address of a node without one (kubernetes/kubernetes#125348), and only this pod gives new nodes theirs.
func TestPodKnowsItself(t *testing.T) {
	for set, want := range map[string]map[string]string{
		"bindAddress=0.0.0.0": {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace",
			"POD_UID": "metadata.uid"},
		"bindAddress=$(HOST_IP)": {"HOST_IP": "status.hostIP", "POD_NAME": "metadata.name",
			"POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"},
	} {
		fields := map[string]string{}
		for _, variable := range container(t, set).Env {
			if variable.ValueFrom != nil && variable.ValueFrom.FieldRef != nil {
				fields[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
			}
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", set, diff)
		}
	}
}

// TestCloudConfigIsThatOfTheProgram compares the values under cloudConfig, their
// defaults and their bounds with the keys the program knows.
func TestCloudConfigIsThatOfTheProgram(t *testing.T) {
	entries, err := configfile.Describe(cloudconfig.Default(), cloudconfig.Keys())
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]*schema{}
	readSchema(t, chartDir(t)).walk("", func(path string, s *schema) { described[path] = s })
	for _, entry := range entries {
		// The chart makes these from other values.
		if strings.HasPrefix(entry.Path, "cloudCredentials.") || entry.Path == "caBundle" {
			continue
		}
		value := valueOf(entry.Path)
		s := described[value]
		deflt, found := lookUp(defaults(t), value)
		if s == nil || !found {
			t.Errorf("the chart has no value %s", value)
			continue
		}
		switch entry.Type {
		case configfile.TypeNumber:
			if s.Minimum != float64(entry.Rule.Min) || s.Maximum != float64(entry.Rule.Max) {
				t.Errorf("%s is from %v to %v in the chart, want %d to %d", value, s.Minimum, s.Maximum, entry.Rule.Min,
					entry.Rule.Max)
			}
			fallthrough
		case configfile.TypeBool:
			if strings.Contains(entry.Default, " ") { // the program has it in words, and the chart leaves the key out
				entry.Default = fmt.Sprint(nil)
			}
			if fmt.Sprint(deflt) != entry.Default {
				t.Errorf("%s has the default %v in the chart, want %s", value, deflt, entry.Default)
			}
		case configfile.TypeText:
			if deflt != "" && deflt != entry.Default {
				t.Errorf("%s has the default %v in the chart, want %s or none", value, deflt, entry.Default)
			}
		}
	}
}
