package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// kubeconfig is one that nothing uses.
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
`

// programMetrics are the names of all metrics of processes that have them all: one for each cloud.
func programMetrics(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("personalAccessToken", "token")
	config := write("config.yaml",
		"organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {directory: "+folder+
			"}\nroutes: {enabled: true}\n")
	made, err := thalassa.New("test")(t.Context(), cloud.Options{ConfigFile: config})
	if err != nil {
		t.Fatal(err)
	}
	options, command := ironcore.NewOptions("test"), &cobra.Command{}
	options.AddFlags(command.Flags())
	if err := command.ParseFlags([]string{"--ironcore-kubeconfig=" + write("kubeconfig", kubeconfig)}); err != nil {
		t.Fatal(err)
	}
	other, err := options.New(t.Context(), cloud.Options{ConfigFile: write("ironcore.yaml",
		"networkName: nodes\nclusterName: blue\nnamespace: shoot\n")})
	if err != nil {
		t.Fatal(err)
	}
	collectors, err := manager.Collectors(made, build.Current())
	if err != nil {
		t.Fatal(err)
	}
	collectors = append(collectors, other.Collectors...)
	descriptions := make(chan *prometheus.Desc, 100)
	for _, collector := range collectors {
		collector.Describe(descriptions)
	}
	close(descriptions)
	var names []string
	for description := range descriptions {
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(description.String())[1])
	}
	slices.Sort(names)
	return names
}

// TestMetricsPage: the page, which is generated, has every metric of these processes, and nothing else.
func TestMetricsPage(t *testing.T) {
	content, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (?:counter|gauge|histogram) \\|").
		FindAllStringSubmatch(string(content), -1) {
		documented = append(documented, match[1])
	}
	slices.Sort(documented)
	if diff := cmp.Diff(programMetrics(t), documented); diff != "" {
		t.Errorf("metrics (-program +page):\n%s", diff)
	}
}
