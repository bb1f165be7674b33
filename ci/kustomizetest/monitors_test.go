package kustomizetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
)

// monitorKinds are Prometheus Operator's, as the API server knows them. Their fields are checked when they are decoded.
const monitorKinds = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]s.monitoring.coreos.com
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: %[3]s}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`

// defineMonitors makes the API server know Prometheus Operator's kinds.
func defineMonitors(t *testing.T, kube kubectl.Kubectl) {
	t.Helper()
	var manifest strings.Builder
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
		singular := strings.ToLower(kind)
		_, _ = fmt.Fprintf(&manifest, monitorKinds, kind, singular+"s", singular)
	}
	if _, err := kube.Apply(manifest.String(), "--server-side"); err != nil {
		t.Fatal(err)
	}
	sample := "apiVersion: monitoring.coreos.com/v1\nkind: %s\nmetadata: {name: sample}\nspec: {}\n"
	await(t, "the kinds of monitors", func(context.Context) error {
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
			if _, err := kube.Apply(fmt.Sprintf(sample, kind), "--server-side", "--dry-run=server"); err != nil {
				return err
			}
		}
		return nil
	})
}
