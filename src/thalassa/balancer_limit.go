package thalassa

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
)

// maxListeners is how many ports one load balancer has at most, as the cloud documents it.
const maxListeners = 100

// fitting returns the ports for which a load balancer has room: all, or, where there are too many, those that are open already. The
// error is about the others. Nothing is made of them, not even target groups: the cloud would refuse the listener after hundreds of writes,
// and which of the ports are left out is for the Service's owner to say.
func fitting(service *corev1.Service, ports []loadbalancer.Port, o observed) ([]loadbalancer.Port, error) {
	if len(ports) <= maxListeners {
		return ports, nil
	}
	open := openOf(ports, o)
	if len(open) == len(ports) { // the cloud had room
		return ports, nil
	}
	return open, fmt.Errorf("a load balancer of Thalassa Cloud has at most %d ports, and Service %s/%s has %d: %d of them are not opened; "+
		"use several Services", maxListeners, service.Namespace, service.Name, len(ports), len(ports)-len(open))
}

// openOf are those of the ports that the Service's load balancer has.
func openOf(ports []loadbalancer.Port, o observed) []loadbalancer.Port {
	var open []loadbalancer.Port
	for _, port := range ports {
		if len(o.balancers) > 0 && listenerOf(o.balancers[0], port.Key) != nil {
			open = append(open, port)
		}
	}
	return open
}
