package thalassa

import (
	"fmt"
	"strings"

	"github.com/thalassa-cloud/client-go/iaas"

	corev1 "k8s.io/api/core/v1"
)

// healthCheckAnnotations start the names of the existing CCM's annotations about health checks.
const healthCheckAnnotations = annotationPrefix + "health-check-"

// healthCheck is what a Service's target groups should have.
type healthCheck struct {
	want *iaas.BackendHealthCheck // nil: none
	keep bool                     // leave one that is there
}

// healthCheckOf checks nodePort, where kube-proxy says whether a node has an endpoint of a Service whose policy is Local.
// Other Services have no health check; one that came with health check annotations of the existing CCM keeps what it has.
// Interval, timeout and thresholds are the existing CCM's.
func healthCheckOf(service *corev1.Service, nodePort int32) healthCheck {
	var check healthCheck
	if nodePort != 0 {
		check.want = &iaas.BackendHealthCheck{
			Protocol: iaas.ProtocolHTTP, Port: nodePort, Path: "/healthz",
			PeriodSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3,
		}
	}
	for name := range service.Annotations {
		check.keep = check.keep || strings.HasPrefix(name, healthCheckAnnotations)
	}
	return check
}

// over returns the health check to aim at, given the observed one.
func (h healthCheck) over(observed *iaas.BackendHealthCheck) *iaas.BackendHealthCheck {
	if h.keep && observed != nil {
		return observed
	}
	return h.want
}

// healthCheckText is comparable, and readable in a plan.
func healthCheckText(h *iaas.BackendHealthCheck) string {
	if h == nil {
		return "none"
	}
	return fmt.Sprintf("%s :%d%s every %ds, timeout %ds, %d good, %d bad",
		h.Protocol, h.Port, h.Path, h.PeriodSeconds, h.TimeoutSeconds, h.HealthyThreshold, h.UnhealthyThreshold)
}
