package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

const page = "../../docs/reference/metrics-and-events.md"

// named are the first cells, in backquotes, of the page's table with the given heading.
func named(t *testing.T, heading string) []string {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(content), "## "+heading)
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var names []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return names
}

const cloudConfig = `
organisation: acme
vpcIdentity: vpc-1
cluster: k8s-1
cloudCredentials: {directory: %}
`

// TestMetricsPage: every metric of the provider is on the page, and nothing else is.
func TestMetricsPage(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("personalAccessToken", "token")
	cloud, err := thalassa.New("test", func(string) string { return "" })(t.Context(), write("config.yaml", strings.ReplaceAll(cloudConfig, "%", folder)))
	if err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc, 100)
	for _, collector := range cloud.(manager.Measurer).Collectors() {
		collector.Describe(descriptions)
	}
	close(descriptions)
	var names []string
	for description := range descriptions {
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(description.String())[1])
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, named(t, "Metrics")); diff != "" {
		t.Errorf("metrics (-code +page):\n%s", diff)
	}
}

// TestEventsPage: every reason of an event, a constant called reason…, is on the page, and nothing else is.
func TestEventsPage(t *testing.T) {
	files, err := filepath.Glob("../../src/thalassa/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, reasonsOf(t, parsed)...)
	}
	slices.Sort(reasons)
	if diff := cmp.Diff(reasons, named(t, "Events")); diff != "" {
		t.Errorf("events (-code +page):\n%s", diff)
	}
}

func reasonsOf(t *testing.T, file *ast.File) []string {
	t.Helper()
	var reasons []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "reason") || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, text)
		}
		return true
	})
	return reasons
}
