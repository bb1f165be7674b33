package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// monitorKind makes the API server know one of Prometheus Operator's kinds, and store whatever its spec says.
const monitorKind = `apiVersion: apiextensions.k8s.io/v1
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

// monitorLimit bounds how long the API server may take to serve new kinds.
const monitorLimit = time.Minute

// DefineMonitors makes the API server know the kinds ServiceMonitor, PodMonitor and PrometheusRule, and waits until it does. It
// does not check their fields: decoding them strictly into their Go types does.
func (k Kubectl) DefineMonitors(ctx context.Context) error {
	var kinds, samples strings.Builder
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule"} {
		singular := strings.ToLower(kind)
		_, _ = fmt.Fprintf(&kinds, monitorKind, kind, singular+"s", singular)
		_, _ = fmt.Fprintf(&samples, "apiVersion: monitoring.coreos.com/v1\nkind: %s\nmetadata: {name: sample}\nspec: {}\n---\n", kind)
	}
	if _, err := k.Apply(kinds.String(), "--server-side"); err != nil {
		return fmt.Errorf("defining monitors: %w", err)
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, monitorLimit, true, func(context.Context) (bool, error) {
		_, last = k.Apply(samples.String(), "--server-side", "--dry-run=server")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the kinds of monitors: %w", errors.Join(err, last))
	}
	return nil
}
