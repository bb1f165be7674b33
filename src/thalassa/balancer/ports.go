package balancer

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// maxListeners is the documented maximum number of ports of a load balancer.
const maxListeners = 100

// openablePorts returns the ports that may be open, and why the others are not. An open port stays open with its
// restrictions: a mistake neither closes nor opens a port. For a port that is not opened, no object is created.
func (d desired) openablePorts(o Observed) ([]cloud.Port, error) {
	var open []cloud.Port
	var problems, unreadable []error
	refused := map[string]int{}
	tooMany := 0
	for _, port := range d.Ports {
		switch {
		case o.listener(port.Key) != nil:
			open = append(open, port)
		case len(d.blocked) > 0:
			refused[d.blocked[0]]++
		case d.ports[port.Key].sources.Invalid:
			unreadable = append(unreadable,
				fmt.Errorf("port %s is not opened, because the annotation about its allowed sources is not valid",
					port.Key))
		case len(d.Ports) > maxListeners:
			tooMany++ // only the Service's owner can choose which of them to open
		default:
			open = append(open, port)
		}
	}
	if len(open) == 0 {
		// otherwise other ports are open, and another notice describes the invalid annotation
		problems = append(problems, unreadable...)
	}
	for why, ports := range refused {
		problems = append(problems, fmt.Errorf("%d of the ports of Service %s are not opened: %s", ports, d.Owner, why))
	}
	if tooMany > 0 {
		problems = append(problems, fmt.Errorf("a load balancer of Thalassa Cloud has at most %d ports, and Service "+
			"%s has %d: %d of them are not opened; distribute the ports over several Services",
			maxListeners, d.Owner, len(d.Ports), tooMany))
	}
	err := errors.Join(problems...)
	if len(unreadable) > 0 && len(problems) == len(unreadable) && d.failed == nil && d.missing == nil {
		err = cloud.Reason{Err: err, Until: cloud.ServiceChanges} // no other reason keeps the ports closed
	}
	return open, err
}

// blockedReasons returns why no further port is opened: the allowed sources would differ from what the Service asks
// for.
func blockedReasons(d desired, o Observed) []string {
	var reasons []string
	if d.internal.Invalid {
		reasons = append(reasons, "the annotations that make the load balancer internal or public are not valid")
	}
	if immutableTypeText(d.settings, o.Balancer()) != "" {
		reasons = append(reasons, "the load balancer is internal and the Service requests a public one, or the reverse")
	}
	switch {
	case d.annotations.securityGroups.From(d.values).Invalid:
		reasons = append(reasons, "the annotation about its security groups is not valid")
	case d.groups.Invalid:
		reasons = append(reasons, "its security groups do not exist")
	}
	if d.annotations.createSecurityGroup.From(d.values).Invalid {
		reasons = append(reasons, "the annotation create-security-group is not valid")
	}
	return reasons
}

// dropUnsupported removes the ports whose protocols the cloud does not support, and returns messages about them.
func dropUnsupported(d *cloud.Desired) []string {
	var problems []string
	d.Ports = slices.DeleteFunc(d.Ports, func(port cloud.Port) bool {
		p := port.Protocol
		if p == corev1.ProtocolTCP || p == corev1.ProtocolUDP {
			return false
		}
		d.Unserved = append(d.Unserved, port.Key)
		problems = append(problems,
			fmt.Sprintf("port %s of Service %s: Thalassa Cloud load balancers have no %s; use TCP or UDP", port.Key,
				d.Owner, p))
		return true
	})
	return problems
}
