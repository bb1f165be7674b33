package charttest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const configKey = "cloud-config.yaml"

// cloudConfig returns the configuration file of a render.
func cloudConfig(t *testing.T, sets ...string) map[string]any {
	t.Helper()
	configMap := find[*corev1.ConfigMap](t, objects(t, minimal(t, sets...)), "thalassa-ccm")
	parsed := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(configMap.Data[configKey]), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestCloudConfig(t *testing.T) {
	want := map[string]any{
		"organisation": "my-organisation", "vpcIdentity": "vpc-0123456789", "cluster": "production",
		"endpoint": "https://api.thalassa.cloud", "insecure": false, "additionalLabels": map[string]any{},
		"cloudCredentials": map[string]any{"directory": "/etc/thalassa-ccm/credentials"},
		"loadBalancer": map[string]any{"enabled": true, "creationPollTimeout": 300.0,
			"driftPeriod": 300.0,
			"drift":       "repair", "removeOrphans": false, "onlyClass": false, "class": "",
			"defaults": map[string]any{}, "maxTargets": 0.0},
		"instancesV2": map[string]any{"enabled": true, "zoneAndRegionEnabled": true, "typeLabels": false,
			"labelPrefix": "", "taintPrefix": "",
			"machineAnnotation": "", "removalGracePeriod": 60.0, "maxRemovals": 20.0, "removalWindow": 600.0,
			"dryRun": false},
		"routes":    map[string]any{"enabled": false, "table": "", "exclusive": false, "driftPeriod": 300.0},
		"inventory": map[string]any{"machineAge": 60.0, "balancerAge": 600.0},
		"api":       map[string]any{"callTimeout": 30.0, "requestsPerSecond": 50.0, "burst": 100.0},
	}
	if diff := cmp.Diff(want, cloudConfig(t)); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestCloudConfigKeepsStrings(t *testing.T) {
	values := minimal(t)
	for key, want := range map[string]string{
		"project": "0123", "defaultSubnet": "yes", "organisation": "1e3", "cluster": "null",
	} {
		values["cloudConfig"].(map[string]any)[key] = want
	}
	configMap := find[*corev1.ConfigMap](t, objects(t, values), "thalassa-ccm")
	got := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(configMap.Data[configKey]), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range values["cloudConfig"].(map[string]any) {
		if got[key] != want {
			t.Errorf("%s is %v in the configuration, want %v", key, got[key], want)
		}
	}
}

// TestCredentialsStayInTheSecret wants credentials to be mounted from the Secret
// as a directory, and to be nowhere else.
func TestCredentialsStayInTheSecret(t *testing.T) {
	spec := daemonSet(t).Spec.Template.Spec
	index := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
	if index < 0 {
		t.Fatal("no volume is a Secret")
	}
	volume := spec.Volumes[index]
	if got, want := volume.Secret.SecretName, "thalassa-credentials"; got != want {
		t.Errorf("Secret %q, want %q", got, want)
	}
	if mode := *volume.Secret.DefaultMode; mode&0o007 != 0 {
		t.Errorf("mode %o lets others read the credentials", mode)
	}
	mount := mountOf(t, spec.Containers[0], volume.Name)
	directory := cloudConfig(t)["cloudCredentials"].(map[string]any)["directory"]
	if mount.MountPath != directory || mount.SubPath != "" || !mount.ReadOnly {
		t.Errorf("mount %+v, want the whole directory %v, read-only", mount, directory)
	}
	text := manifest(t, release(minimal(t)))
	for _, key := range []string{"personalAccessToken", "clientSecret", "kind: Secret"} {
		if strings.Contains(text, key) {
			t.Errorf("the manifest contains %q", key)
		}
	}
}

// TestConfigFileExists follows the flag --cloud-config to the ConfigMap's key.
func TestConfigFileExists(t *testing.T) {
	spec := daemonSet(t).Spec.Template.Spec
	index := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil })
	if index < 0 {
		t.Fatal("no volume is a ConfigMap")
	}
	find[*corev1.ConfigMap](t, objects(t, minimal(t)), spec.Volumes[index].ConfigMap.Name)
	mount := mountOf(t, spec.Containers[0], spec.Volumes[index].Name)
	if got, want := flags(t)["cloud-config"], path.Join(mount.MountPath, configKey); got != want {
		t.Errorf("--cloud-config=%s, want %s", got, want)
	}
}

func mountOf(t *testing.T, container corev1.Container, volume string) corev1.VolumeMount {
	t.Helper()
	for _, mount := range container.VolumeMounts {
		if mount.Name == volume {
			return mount
		}
	}
	t.Fatalf("volume %q is not mounted", volume)
	return corev1.VolumeMount{}
}
