package charttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// command returns the command of the binary the chart runs.
func command() *cobra.Command {
	none := func(context.Context, cloud.Options) (*cloud.Cloud, error) {
		return nil, errors.New("the tests of the chart only parse flags")
	}
	options := ironcore.NewOptions("test")
	return manager.NewCommand(build.Info{Version: "v0.0.0-test"},
		manager.Provider{Name: thalassa.ProviderName, New: none},
		manager.Provider{Name: ironcore.ProviderName, Flags: options.AddFlags,
			OtherFlags: []string{ironcore.SelectorFlag}, New: none})
}

// TestFlagsExist parses the rendered arguments as the binary does.
func TestFlagsExist(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			if template := podTemplate(objects(t, readValues(t, path))); template != nil {
				parseFlags(t, template.Spec.Containers[0].Args)
			}
		})
	}
}

// parseFlags wants the binary to know every flag, and none to be deprecated.
func parseFlags(t *testing.T, args []string) {
	t.Helper()
	cmd := command()
	if len(args) == 0 {
		t.Error("no arguments")
	}
	for _, arg := range args {
		name := strings.TrimPrefix(strings.Split(arg, "=")[0], "--")
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			t.Errorf("the binary has no flag --%s", name)
		} else if flag.Deprecated != "" {
			t.Errorf("--%s is deprecated: %s", name, flag.Deprecated)
		}
		// kubelet replaces the reference before the binary sees it.
		if err := cmd.ParseFlags([]string{strings.ReplaceAll(arg, "$(HOST_IP)", "192.0.2.1")}); err != nil {
			t.Errorf("the binary refuses %s: %v", arg, err)
		}
	}
}

// TestConfigIsAccepted checks the rendered configuration, and the files it
// refers to, as the binary does, with both kinds of Secret.
func TestConfigIsAccepted(t *testing.T) {
	for name, keys := range map[string][]string{
		"token":              {"personalAccessToken"},
		"client credentials": {"clientID", "clientSecret"},
	} {
		for file, path := range valuesFiles(t) {
			rendered := objects(t, readValues(t, path))
			if !configures(rendered) {
				continue
			}
			validate, wants := thalassa.Validate, []string{"cluster: production",
				"vpcIdentity: vpc-0123456789", "organisation: my-organisation"}
			if strings.HasPrefix(file, "ironcore") {
				validate, wants = cloudconfig.Validate, []string{"clusterName: production", "networkName: nodes"}
			}
			t.Run(name+" "+file, func(t *testing.T) {
				effective, problems := validate(configFile(t, rendered, keys), cloud.Environment{}, true)
				if len(problems) > 0 {
					t.Fatal(strings.Join(problems, "\n"))
				}
				for _, want := range wants {
					if !strings.Contains(string(effective), want+"\n") {
						t.Errorf("the configuration in effect lacks %s:\n%s", want, effective)
					}
				}
			})
		}
	}
}

// configures reports whether the render has the configuration in it.
func configures(rendered []runtime.Object) bool {
	return slices.ContainsFunc(rendered, func(object runtime.Object) bool {
		return isConfig(object)
	})
}

// isConfig recognises the ConfigMap with the configuration.
func isConfig(object runtime.Object) bool {
	configMap, is := object.(*corev1.ConfigMap)
	return is && configMap.Data[configKey] != ""
}

// configFile makes the volumes of the pod, with a Secret that has those keys, and
// returns the path of the configuration, in which their directories stand for the
// paths of the mounts.
func configFile(t *testing.T, rendered []runtime.Object, keys []string) string {
	t.Helper()
	spec := podTemplate(rendered).Spec
	var configMap *corev1.ConfigMap
	for _, object := range rendered {
		if isConfig(object) {
			configMap, _ = object.(*corev1.ConfigMap)
		}
	}
	config := configMap.Data[configKey]
	var directory string
	for _, volume := range spec.Volumes {
		mounted := t.TempDir()
		fill(t, mounted, volume, configMap, keys)
		config = strings.ReplaceAll(config, mountOf(t, spec.Containers[0], volume.Name).MountPath+"/", mounted+"/")
		config = strings.ReplaceAll(config, mountOf(t, spec.Containers[0], volume.Name).MountPath+"\n", mounted+"\n")
		if volume.ConfigMap != nil && volume.ConfigMap.Name == configMap.Name {
			directory = mounted
		}
	}
	path := filepath.Join(directory, configKey)
	writeFile(t, path, config)
	return path
}

// fill writes what kubelet would: the chart's ConfigMap, a token, the Secret with
// the keys, or certificates of others.
func fill(t *testing.T, directory string, volume corev1.Volume, own *corev1.ConfigMap, keys []string) {
	t.Helper()
	switch {
	case volume.ConfigMap != nil && volume.ConfigMap.Name == own.Name:
		for key, text := range own.Data {
			writeFile(t, filepath.Join(directory, key), text)
		}
	case volume.Projected != nil:
		writeFile(t, filepath.Join(directory, volume.Projected.Sources[0].ServiceAccountToken.Path), "something")
	case volume.Name == "ca":
		values := readValues(t, valuesFiles(t)["private-ca"])
		pem, _ := lookUp(values, "caBundle.pem")
		writeFile(t, filepath.Join(directory, "bundle.pem"), pem.(string))
	default:
		for _, key := range keys {
			writeFile(t, filepath.Join(directory, key), "something")
		}
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
