package thalassa

import (
	"fmt"

	"github.com/thalassa-cloud/client-go/iaas"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// healthSettings is what a Service asks for about the health check of one port.
type healthSettings struct {
	enabled                     annotation.Setting[bool]
	port                        annotation.Setting[int] // 0: the port's node port
	path, protocol              annotation.Setting[string]
	interval, timeout, up, down annotation.Setting[int] // seconds; times in a row
	// contradiction is what is wrong with the settings together; "" when nothing.
	contradiction string
}

// checked is whether and how the targets of a port are to be checked.
type checked struct {
	settings healthSettings
	// nodePort answers for the whole Service when its policy is Local; else 0.
	nodePort int32
	// created says that the load balancer is ours from the beginning, so that our defaults hold.
	created bool
}

// over returns the health check to aim at, given the observed one; nil is none. What the Service asks for and cannot be
// used stays as it is observed.
func (c checked) over(port cloud.Port, observed *iaas.BackendHealthCheck) *iaas.BackendHealthCheck {
	s := c.settings
	switch {
	case c.nodePort != 0: // as the existing CCM has it: also without being asked, and always HTTP
		s.protocol = annotation.Setting[string]{Value: string(iaas.ProtocolHTTP)}
		return s.complete(iaas.ProtocolHTTP, c.nodePort, observed)
	case s.enabled.Invalid, s.port.Invalid && observed != nil:
		return observed
	case !s.enabled.Value || !s.enabled.Given && !c.created:
		return nil
	case s.port.Asked():
		return s.complete(iaas.ProtocolHTTP, port.TargetPort, observed)
	case !c.created:
		return observed // the existing CCM took it for none
	case port.Protocol != corev1.ProtocolTCP:
		return nil // a port that answers only what it understands looks dead
	}
	return s.complete(iaas.ProtocolTCP, port.TargetPort, observed)
}

// given says that the Service asks for anything about it, whether or not that can be used.
func (s healthSettings) given() bool {
	return said(s.enabled) || said(s.port) || said(s.path) || said(s.protocol) || said(s.interval) || said(s.timeout) ||
		said(s.up) || said(s.down)
}

func said[T any](s annotation.Setting[T]) bool { return s.Given || s.Invalid }

// aim is over for an object that remembers what was asked for.
func (c checked) aim(own *memo, port cloud.Port, observed *iaas.BackendHealthCheck) *iaas.BackendHealthCheck {
	const setting = "health-check"
	switch {
	case !own.free:
	case c.nodePort != 0: // whose check it is has to be known once the policy is another
		own.traces = own.with(setting)
	case c.settings.given():
		own.traces = own.with(setting)
		if s := c.settings; !s.enabled.Given && observed != nil {
			// it is made already; only something of it is asked for
			return s.complete(observed.Protocol, observed.Port, observed)
		}
	case own.has(setting):
		own.traces = own.without(setting)
	default:
		return observed
	}
	return c.over(port, observed)
}

// complete is the health check that the Service asks for, with a protocol and a port for when it does not say.
func (s healthSettings) complete(protocol iaas.LoadbalancerProtocol, port int32,
	observed *iaas.BackendHealthCheck) *iaas.BackendHealthCheck {
	check := iaas.BackendHealthCheck{
		Protocol: protocol, Port: port, Path: s.path.Value,
		PeriodSeconds: s.interval.Value, TimeoutSeconds: s.timeout.Value, HealthyThreshold: int32(s.up.Value),
		UnhealthyThreshold: int32(s.down.Value),
	}
	if s.protocol.Asked() && !s.protocol.Invalid {
		check.Protocol = iaas.LoadbalancerProtocol(s.protocol.Value)
	}
	if s.port.Value != 0 {
		check.Port = int32(s.port.Value)
	}
	if observed != nil {
		s.keep(&check, *observed)
	}
	return &check
}

// keep leaves everything at the observed value that the Service says something unusable about.
func (s healthSettings) keep(check *iaas.BackendHealthCheck, observed iaas.BackendHealthCheck) {
	if s.protocol.Invalid {
		check.Protocol = observed.Protocol
	}
	if s.port.Invalid {
		check.Port = observed.Port
	}
	check.Path = s.path.Over(observed.Path)
	check.PeriodSeconds, check.TimeoutSeconds = s.interval.Over(observed.PeriodSeconds),
		s.timeout.Over(observed.TimeoutSeconds)
	check.HealthyThreshold, check.UnhealthyThreshold = int32(s.up.Over(int(observed.HealthyThreshold))),
		int32(s.down.Over(int(observed.UnhealthyThreshold)))
	s.keepFormerDefaults(check, observed)
	if hasNoPath(check.Protocol) && hasNoPath(observed.Protocol) {
		check.Path = observed.Path // which means nothing
	}
}

// The former default times of health checks are also those of the existing CCM: seconds, seconds, checks, checks. With
// the present ones a new target gets its first connection within 10 seconds.
const formerInterval, formerTimeout, formerUp, formerDown = 10, 5, 2, 3

// keepFormerDefaults leaves the former defaults where the Service says nothing: a new version does not change the
// health checks of all load balancers that there are.
func (s healthSettings) keepFormerDefaults(check *iaas.BackendHealthCheck, observed iaas.BackendHealthCheck) {
	unasked := func(one annotation.Setting[int]) bool { return !one.Asked() && !one.Invalid }
	for _, one := range []struct {
		setting          annotation.Setting[int]
		observed, former int
	}{
		{s.interval, observed.PeriodSeconds, formerInterval}, {s.timeout, observed.TimeoutSeconds, formerTimeout},
		{s.up, int(observed.HealthyThreshold), formerUp}, {s.down, int(observed.UnhealthyThreshold), formerDown},
	} {
		if unasked(one.setting) && one.observed != one.former {
			return
		}
	}
	if unasked(s.interval) {
		check.PeriodSeconds = max(formerInterval, check.TimeoutSeconds)
	}
	if unasked(s.timeout) {
		check.TimeoutSeconds = min(formerTimeout, check.PeriodSeconds)
	}
	if unasked(s.up) {
		check.HealthyThreshold = formerUp
	}
}

// hasNoPath says of a protocol that there is nothing to ask for: what a path says then, and whether it is kept, is the
// cloud's affair.
func hasNoPath(protocol iaas.LoadbalancerProtocol) bool {
	return protocol == iaas.ProtocolTCP || protocol == iaas.ProtocolUDP
}

// problem is what is wrong with the settings together; "" when nothing.
func (s healthSettings) problem() string {
	if s.timeout.Value <= s.interval.Value {
		return ""
	}
	return fmt.Sprintf("The timeout of the health check is %d seconds and its interval is %d seconds: both settings "+
		"do not change. Set health-check-timeout to at most health-check-interval.",
		s.timeout.Value, s.interval.Value)
}

// conflicts tells what the Service asks for about health checks that are made, and cannot have.
func (d desired) conflicts() []cloud.Notice {
	var notices []cloud.Notice
	for _, port := range d.Ports {
		check := d.healthCheck(port)
		if check.over(port, nil) == nil {
			continue
		}
		s := check.settings
		if s.contradiction != "" {
			notices = appendOnce(notices, settingNotice(reasonConflict, s.contradiction))
		}
		other := s.protocol.Given && !s.protocol.Invalid && s.protocol.Value != string(iaas.ProtocolHTTP)
		if check.nodePort != 0 && (other || s.enabled.Given && !s.enabled.Value) {
			notices = appendOnce(notices, settingNotice(reasonConflict, fmt.Sprintf(
				"With externalTrafficPolicy Local the nodes are always checked by HTTP, because some nodes may have "+
					"no pod: %shealth-check-enabled and -protocol have no effect then.", annotationPrefix)))
		}
	}
	return notices
}

// usable returns the settings without those that contradict each other: they are as good as unreadable, and a check
// that is made has the defaults.
func (s healthSettings) usable(keys healthKeys) healthSettings {
	s = s.withInterval()
	if s.contradiction = s.problem(); s.contradiction != "" {
		s.interval = annotation.Setting[int]{Value: keys.interval.Default(), Invalid: true}
		s.timeout = annotation.Setting[int]{Value: keys.timeout.Default(), Invalid: true}
	}
	return s
}

// withInterval returns the settings with an interval that is as long as the timeout, if only the timeout is asked for.
func (s healthSettings) withInterval() healthSettings {
	if !s.interval.Asked() && !s.interval.Invalid {
		s.interval.Value = max(s.interval.Value, s.timeout.Value)
	}
	return s
}

// healthCheckText is comparable, and readable in a plan.
func healthCheckText(h *iaas.BackendHealthCheck) string {
	if h == nil {
		return "none"
	}
	return fmt.Sprintf("%s :%d%s every %ds, timeout %ds, %d good, %d bad",
		h.Protocol, h.Port, h.Path, h.PeriodSeconds, h.TimeoutSeconds, h.HealthyThreshold, h.UnhealthyThreshold)
}

// healthCheck is whether and how the targets of a port are to be checked.
func (d desired) healthCheck(port cloud.Port) checked {
	return checked{settings: d.ports[port.Key].health, nodePort: d.HealthCheckNodePort, created: d.created}
}
