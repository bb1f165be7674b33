package rbactest

import (
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// csiChartDir is the folder of the chart of the CSI driver.
func csiChartDir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/thalassa-csi")
}

const csiPageBegin = `
## The CSI driver

These are the permissions of the chart ` + "`thalassa-csi`" + ` with ` + "`snapshots.enabled`" + ` and ` + "`snapshots.controller.enabled`" + `. Without snapshots,
there are no rules about ` + "`snapshot.storage.k8s.io`" + `. The roles that end with ` + "`-controller`" + ` are for the driver and its sidecars, which
share an account. The role that ends with ` + "`-node`" + ` is for the node plug-in. A test runs the driver and the sidecars with the
account of the chart: without snapshots, with snapshots, and with snapshot-controller. Each time it follows a volume, a clone and, if
there are snapshots, a snapshot, and compares the audit log with the rules. All rules have to be used. The test permits one difference:
without snapshots, csi-provisioner tries to list snapshots if they are defined in the cluster. Another test registers the node plug-in
with its account, as a kubelet does, and permits no difference.

| Role | Resource | Verbs | Why |
|---|---|---|---|
`

// csiPage is the part of the page about the CSI driver.
func csiPage(t *testing.T) string {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join(csiChartDir(t), "ci", "snapshots-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, _, err := chart.Render(t.Context(), csiChartDir(t), chart.Release{Name: "thalassa-csi",
		Namespace: "thalassa-system", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(csiPageBegin)
	for _, rule := range documented(t, manifest) {
		if rule.comment == "" {
			t.Errorf("%s: the rule %v has no comment", rule.role, rule.PolicyRule)
		}
		text.WriteString(rule.row())
	}
	return text.String()
}
