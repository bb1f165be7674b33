//go:build linux

package cluster

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// matches returns what the first group of an expression matches in a file of tools/coredns, in order.
func matches(t *testing.T, file, expression string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(checkout.Path(t, "tools/coredns/"+file))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(string(text), -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	return all
}

// TestPlugInsOfCoreDNS: the program has the plug-ins that its Corefile uses, and no others.
func TestPlugInsOfCoreDNS(t *testing.T) {
	linked := matches(t, "main.go", `coredns/plugin/(\w+)"`)
	used := matches(t, "chart/templates/coredns.yaml", `(?m)^ {8}(\w+)(?: [^:]+)?$`)
	if diff := cmp.Diff(linked, slices.Compact(used)); diff != "" {
		t.Errorf("plug-ins, -linked +used:\n%s", diff)
	}
}

// TestChartOfCoreDNS: the image that the chart asks for is the one that is made, which has the version that is pinned.
func TestChartOfCoreDNS(t *testing.T) {
	root := repotest.Root(t, "tools/coredns")
	loaded, err := chart.Load(dnsChart(root))
	if err != nil {
		t.Fatal(err)
	}
	pinned := matches(t, "go.mod", `github\.com/coredns/coredns (v\S+)`)
	if !slices.Equal(pinned, []string{loaded.AppVersion()}) {
		t.Errorf("the version of the chart is %s, and go.mod pins %v", loaded.AppVersion(), pinned)
	}
	manifest, _, err := chart.Render(t.Context(), dnsChart(root), dnsRelease())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: " + dnsReference(loaded) + "\n", "clusterIP: " + dnsAddress().String() + "\n",
		"\n    " + Domain + ":1053 in-addr.arpa"} {
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest lacks %q:\n%s", want, manifest)
		}
	}
}
