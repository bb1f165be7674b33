package thalassa

import (
	corev1 "k8s.io/api/core/v1"
)

// ranges are source ranges in the spec.
func ranges(texts ...string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = texts }
}

// allowed are the allowed sources of the load balancer's ports.
func (l *lab) allowed() map[int][]string {
	l.Helper()
	allowed := map[int][]string{}
	for _, listener := range l.balancer().LoadbalancerListeners {
		allowed[listener.Port] = listener.AllowedSources
	}
	return allowed
}
