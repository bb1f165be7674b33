package ironcore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// cloudConfig returns the path of a cloud-config file.
func cloudConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config")
	content := "networkName: " + testNetwork + "\nclusterName: " + testCluster + "\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newCloud makes the cloud as the program does, without flags of the cloud.
func newCloud(t *testing.T, process cloud.Options) error {
	t.Helper()
	_, err := NewOptions("test").New(t.Context(), process)
	return err
}

// TestTwoClusterNames: two different names of the cluster are an error that names both.
func TestTwoClusterNames(t *testing.T) {
	err := newCloud(t, cloud.Options{ConfigFile: cloudConfig(t), ClusterName: "green"})
	wantError(t, "error", err, testCluster, "green", "--cluster-name")
}

// TestMissingFlags: without a file, the error names the flag.
func TestMissingFlags(t *testing.T) {
	wantError(t, "error without a cloud-config", newCloud(t, cloud.Options{}), "--cloud-config")
	wantError(t, "error without a kubeconfig", newCloud(t, cloud.Options{ConfigFile: cloudConfig(t)}),
		"--ironcore-kubeconfig")
}
