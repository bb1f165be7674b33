package reference

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
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
	return namesOf(slices.Concat(collectors, other.Collectors, driver.Described()))
}

// namesOf returns the names of metrics, sorted.
func namesOf(collectors []prometheus.Collector) []string {
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
	content, err := os.ReadFile(checkout.Path(t, "docs/reference/metrics.md"))
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

// TestMetricsOfCredentials: as the page says, only files with secrets have metrics.
func TestMetricsOfCredentials(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "personalAccessToken"), []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for credentials, want := range map[string]bool{
		"cloudCredentials: {directory: " + folder + "}":    true,
		"cloudCredentials: {personalAccessToken: token}":   false,
		"cloudCredentials: {clientID: a, clientSecret: b}": false,
		"cloudCredentials: {workloadIdentity: {serviceAccountID: sa-1, organisationID: o-1, subjectTokenFile: " +
			filepath.Join(folder, "personalAccessToken") + "}}": false,
	} {
		path := filepath.Join(folder, "config.yaml")
		if err := os.WriteFile(path, []byte("organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\n"+credentials),
			0o600); err != nil {
			t.Fatal(err)
		}
		made, err := thalassa.New("test")(t.Context(), cloud.Options{ConfigFile: path})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(namesOf(made.Collectors),
			"cloudprovider_thalassa_secrets_adopted_timestamp_seconds"); got != want {
			t.Errorf("%s: there is a metric: %t, want %t", credentials, got, want)
		}
	}
}

// TestQuotasOfIronCore: IronCore counts towards its quotas what the page says, in the version that this program uses.
func TestQuotasOfIronCore(t *testing.T) {
	checkout.DependOn("ci/go.mod", "go.work")
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/ironcore-dev/ironcore").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(output)), "internal/quota/evaluator/*/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`Type\(\) client\.Object \{\s+return (\S+)`).FindAllStringSubmatch(
			string(content), -1) {
			counted[match[1]] = true
		}
	}
	want := map[string]bool{"&computev1alpha1.Machine{}": true, "&storagev1alpha1.Volume{}": true,
		"&storagev1alpha1.Bucket{}": true, "e.typ": true} // the last one is of a generic type that nothing uses
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("what counts towards quotas (-page +IronCore):\n%s", diff)
	}
	page, err := os.ReadFile(checkout.Path(t, "docs/reference/metrics.md"))
	if err != nil || !strings.Contains(string(page), "its ResourceQuota counts machines, volumes and buckets") {
		t.Errorf("the page does not say what IronCore counts, error %v", err)
	}
}
