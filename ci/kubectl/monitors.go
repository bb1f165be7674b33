package kubectl

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	// The module whose folder holds the definitions: what is imported stays in go.mod, at one version, and is there
	// without a network.
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// operatorModule has the definitions of its kinds in definitionsDir, one file each.
const (
	operatorModule = "github.com/prometheus-operator/prometheus-operator"
	definitionsDir = "example/prometheus-operator-crd"
)

// monitorLimit bounds how long the API server may take to serve new kinds.
const monitorLimit = time.Minute

// samples are the least of each kind that its schema lets pass.
const samples = `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: sample}
spec: {selector: {}, endpoints: []}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: sample}
spec: {selector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: sample}
spec: {}
`

// DefineMonitors makes the API server know the kinds ServiceMonitor, PodMonitor and PrometheusRule, and waits until it
// does. The definitions are those of Prometheus Operator itself, so that the API server checks every field as in a
// user's cluster.
func (k Kubectl) DefineMonitors(ctx context.Context) error {
	definitions, err := monitorDefinitions(ctx)
	if err != nil {
		return err
	}
	if _, err := k.Apply(definitions, "--server-side"); err != nil {
		return fmt.Errorf("defining monitors: %w", err)
	}
	limits := poll.Limits{Every: 100 * time.Millisecond, For: monitorLimit}
	return limits.Until(ctx, "the kinds of monitors can be used", func(context.Context) error {
		_, err := k.Apply(samples, "--server-side", "--dry-run=server")
		return err
	})
}

// monitorDefinitions are the CustomResourceDefinitions, as one manifest.
func monitorDefinitions(ctx context.Context) (string, error) {
	checkout.DependOn("ci/go.mod", "go.work")
	output, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", operatorModule).Output()
	if err != nil {
		return "", fmt.Errorf("finding the folder of %s: %w; go mod download fetches it", operatorModule, err)
	}
	var all strings.Builder
	for _, plural := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		file := filepath.Join(strings.TrimSpace(string(output)), definitionsDir, "monitoring.coreos.com_"+plural+
			".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading the definition of %s: %w", plural, err)
		}
		all.WriteString("---\n")
		all.Write(text)
	}
	return all.String(), nil
}
