package charttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// command returns the command of the binary the chart runs.
func command() *cobra.Command {
	return manager.NewCommand("v0.0.0-test", manager.Provider{
		Name: "thalassacloud",
		New: func(context.Context, string) (cloudprovider.Interface, error) {
			return nil, errors.New("the tests of the chart only parse flags")
		},
	})
}

// TestFlagsExist parses the rendered arguments as the binary does.
func TestFlagsExist(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			values := readValues(t, path)
			for _, object := range objects(t, values) {
				workload, ok := object.(*appsv1.DaemonSet)
				if !ok {
					continue
				}
				parseFlags(t, workload.Spec.Template.Spec.Containers[0].Args)
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

// TestConfigIsAccepted reads the rendered configuration as the binary does, with
// both kinds of Secret.
func TestConfigIsAccepted(t *testing.T) {
	for name, keys := range map[string][]string{
		"token":              {"personalAccessToken"},
		"client credentials": {"clientID", "clientSecret"},
	} {
		for file, path := range valuesFiles(t) {
			t.Run(name+" "+file, func(t *testing.T) {
				config := configFile(t, readValues(t, path), keys)
				got, _, err := thalassa.ReadConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				if got.Cluster != "production" || got.VPCIdentity != "vpc-0123456789" || got.Organisation != "my-organisation" {
					t.Errorf("configuration %+v is not that of %s", got, path)
				}
			})
		}
	}
}

// configFile writes the configuration and a Secret with those keys where the
// volumes of a pod would hold them, and returns the path of the former.
func configFile(t *testing.T, values map[string]any, keys []string) string {
	t.Helper()
	credentials := t.TempDir()
	for _, key := range keys {
		writeFile(t, filepath.Join(credentials, key), "something")
	}
	for _, object := range objects(t, values) {
		if configMap, ok := object.(*corev1.ConfigMap); ok {
			path := filepath.Join(t.TempDir(), configKey)
			writeFile(t, path, strings.ReplaceAll(configMap.Data[configKey], "/etc/thalassa-ccm/credentials", credentials))
			return path
		}
	}
	t.Fatal("no ConfigMap in the manifest")
	return ""
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
