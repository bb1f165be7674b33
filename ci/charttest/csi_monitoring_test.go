package charttest

import (
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestCSIMonitorsAndPolicies name ports that the pods have.
func TestCSIMonitorsAndPolicies(t *testing.T) {
	sets := []string{"snapshots.enabled=true", "snapshots.controller.enabled=true", "networkPolicy.enabled=true"}
	rendered := csiObjects(t, append(sets, "serviceMonitor.enabled=true")...)
	ports := map[string]string{}
	for component, spec := range map[string]corev1.PodSpec{"controller": csiController(t, sets...),
		"node": csiNode(t, sets...)} {
		for _, container := range spec.Containers {
			ports[container.Ports[0].Name] = component
		}
	}
	monitored := map[string]bool{}
	for _, endpoint := range find[*monitoringv1.ServiceMonitor](t, rendered, csiName).Spec.Endpoints {
		monitored[endpoint.Port] = true
	}
	for _, port := range find[*corev1.Service](t, rendered, "thalassa-csi-metrics").Spec.Ports {
		if port.TargetPort.String() != port.Name || ports[port.Name] == "" || !monitored[port.Name] {
			t.Errorf("port %s of the Service is not one of a pod, or not monitored", port.Name)
		}
	}
	if len(monitored) != len(ports) {
		t.Errorf("ports %v are monitored, of %v", monitored, ports)
	}
	for _, component := range []string{"controller", "node"} {
		policy := find[*networkingv1.NetworkPolicy](t, rendered, "thalassa-csi-"+component)
		for _, port := range policy.Spec.Ingress[0].Ports {
			if ports[port.Port.String()] != component {
				t.Errorf("the policy of the %s permits port %s", component, port.Port)
			}
			delete(ports, port.Port.String())
		}
	}
	if len(ports) > 0 {
		t.Errorf("no policy permits the ports %v", ports)
	}
}
