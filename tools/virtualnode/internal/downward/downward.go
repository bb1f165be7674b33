// Package downward reads the fields of a pod that the downward API offers to its containers.
package downward

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Field returns the value of a fieldRef path, such as status.hostIP or metadata.labels['app'].
// The pod must carry its addresses in its status.
func Field(pod *corev1.Pod, path string) (string, error) {
	if value, ok := keyed(pod, path); ok {
		return value, nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return lines(pod.Labels), nil
	case "metadata.annotations":
		return lines(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return pod.Status.HostIP, nil
	case "status.hostIPs":
		return join(pod.Status.HostIPs, func(a corev1.HostIP) string { return a.IP }), nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	case "status.podIPs":
		return join(pod.Status.PodIPs, func(a corev1.PodIP) string { return a.IP }), nil
	default:
		return "", fmt.Errorf("unknown field path %q", path)
	}
}

// keyed resolves metadata.labels['key'] and metadata.annotations['key']; a missing key is empty.
func keyed(pod *corev1.Pod, path string) (string, bool) {
	for prefix, values := range map[string]map[string]string{
		"metadata.labels['":      pod.Labels,
		"metadata.annotations['": pod.Annotations,
	} {
		if key, ok := strings.CutPrefix(path, prefix); ok && strings.HasSuffix(key, "']") {
			return values[strings.TrimSuffix(key, "']")], true
		}
	}
	return "", false
}

// lines is how a downward API file shows a map: sorted, one key="value" a line.
func lines(values map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, key+"="+strconv.Quote(values[key]))
	}
	return strings.Join(out, "\n")
}

func join[T any](addresses []T, ip func(T) string) string {
	var out []string
	for _, a := range addresses {
		out = append(out, ip(a))
	}
	return strings.Join(out, ",")
}

// Resource returns the value of a resourceFieldRef for a container. A limit that is not set is
// what the node has; a request that is not set is 0.
func Resource(c *corev1.Container, node corev1.ResourceList, ref *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(ref.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "limits":
		limit, ok := c.Resources.Limits[corev1.ResourceName(name)]
		if !ok {
			limit = node[corev1.ResourceName(name)]
		}
		quantity = limit
	case "requests":
		quantity = c.Resources.Requests[corev1.ResourceName(name)]
	default:
		return "", fmt.Errorf("unknown resource %q: it must start with limits. or requests", ref.Resource)
	}
	return divide(quantity, ref.Divisor), nil
}

// divide rounds up, in thousandths, so that a CPU divisor of 1m works.
func divide(quantity, divisor resource.Quantity) string {
	unit := divisor.MilliValue()
	if unit == 0 {
		unit = 1000
	}
	return strconv.FormatInt((quantity.MilliValue()+unit-1)/unit, 10)
}
