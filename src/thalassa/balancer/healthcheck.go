package balancer

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// healthSettings are the Service's settings of the health check of one port.
type healthSettings struct {
	enabled                     annotation.Setting[bool]
	port                        annotation.Setting[int] // 0: the port's node port
	path, protocol              annotation.Setting[string]
	interval, timeout, up, down annotation.Setting[int] // seconds; times in a row
	// contradiction describes settings that exclude each other; "" if there are none.
	contradiction string
}

// settingHealthCheck is the entry of a target group's record for its health check. Its parts have entries of their own.
const settingHealthCheck = "health-check"

// healthCheck returns the desired health check of a port's target group with this record, given the observed one; nil
// is none. The observed check stays if the Service's settings are not valid.
func (d desired) healthCheck(record *lastApplied, port cloud.Port,
	observed *resource.HealthCheck) *resource.HealthCheck {
	s := d.ports[port.Key].health
	if d.HealthCheckNodePort != 0 { // policy Local; as in the existing CCM: always, and with HTTP
		s.protocol = annotation.Setting[string]{Value: resource.ProtocolHTTP, Given: true}
		s.path.Given = !s.path.Invalid // that of another program's check may not be answered
		if !s.port.Asked() {
			s.port = annotation.Setting[int]{Value: int(d.HealthCheckNodePort), Given: true, Invalid: s.port.Invalid}
		}
		if !record.created {
			*record = record.with(settingHealthCheck)
		}
		return s.complete(record, resource.ProtocolHTTP, d.HealthCheckNodePort, observed)
	}
	switch {
	case s.enabled.Invalid, s.port.Invalid && observed != nil:
		return observed
	case !record.created:
		return s.adoptedHealthCheck(record, port, observed)
	case !s.enabled.Value:
		return nil
	case s.port.Asked():
		return s.complete(record, resource.ProtocolHTTP, port.TargetPort, observed)
	case port.Protocol != corev1.ProtocolTCP:
		return nil // a program that only answers its own protocol would fail the check
	}
	return s.complete(record, resource.ProtocolTCP, port.TargetPort, observed)
}

// adoptedHealthCheck is healthCheck for an adopted target group. It gets a health check, or another one, only if the
// Service asks for that. Without a check and without health-check-port, the existing CCM made none.
func (s healthSettings) adoptedHealthCheck(record *lastApplied, port cloud.Port,
	observed *resource.HealthCheck) *resource.HealthCheck {
	switch {
	case !s.anySet() && record.has(settingHealthCheck):
		*record = record.without(settingHealthCheck)
		return nil
	case s.enabled.Given && !s.enabled.Value:
		*record = record.with(settingHealthCheck)
		return nil
	case observed != nil:
		return s.complete(record, observed.Protocol, observed.Port, observed)
	case s.enabled.Given && s.port.Asked():
		*record = record.with(settingHealthCheck)
		return s.complete(record, resource.ProtocolHTTP, port.TargetPort, nil)
	}
	return nil
}

// localPath is the path of the checks that the existing CCM makes with externalTrafficPolicy Local, on the health check
// node port.
const localPath = "/healthz"

// isOfLocal reports whether the check of an adopted target group is one that was made for externalTrafficPolicy Local.
// With another policy nothing answers it, because Kubernetes releases the port.
func isOfLocal(check *resource.HealthCheck, group resource.TargetGroup) bool {
	return check != nil && check.Protocol == resource.ProtocolHTTP && check.Path == localPath &&
		int(check.Port) != group.Port
}

// anySet reports whether the Service has any setting of the health check, valid or not.
func (s healthSettings) anySet() bool {
	return isSet(s.enabled) || isSet(s.port) || isSet(s.path) || isSet(s.protocol) || isSet(s.interval) ||
		isSet(s.timeout) || isSet(s.up) || isSet(s.down)
}

func isSet[T any](s annotation.Setting[T]) bool { return s.Given || s.Invalid }

// complete returns the health check with the Service's settings; protocol and port apply if the Service sets none.
func (s healthSettings) complete(record *lastApplied, protocol string, port int32,
	observed *resource.HealthCheck) *resource.HealthCheck {
	if !s.protocol.Asked() {
		s.protocol.Value = protocol
	}
	if s.port.Value == 0 {
		s.port.Value = int(port)
	}
	is := resource.HealthCheck{
		Protocol: s.protocol.Value, Port: int32(s.port.Value), Path: s.path.Value, PeriodSeconds: s.interval.Value,
		TimeoutSeconds: s.timeout.Value, HealthyThreshold: int32(s.up.Value), UnhealthyThreshold: int32(s.down.Value),
	}
	if observed != nil {
		is = *observed
	}
	check := resource.HealthCheck{
		Protocol:         desiredValue(record, "health-check-protocol", s.protocol, is.Protocol),
		Port:             int32(desiredValue(record, "health-check-port", s.port, int(is.Port))),
		Path:             desiredValue(record, "health-check-path", s.path, is.Path),
		PeriodSeconds:    desiredValue(record, "health-check-interval", s.interval, is.PeriodSeconds),
		TimeoutSeconds:   desiredValue(record, "health-check-timeout", s.timeout, is.TimeoutSeconds),
		HealthyThreshold: int32(desiredValue(record, "health-check-up-threshold", s.up, int(is.HealthyThreshold))),
		UnhealthyThreshold: int32(desiredValue(record, "health-check-down-threshold", s.down,
			int(is.UnhealthyThreshold))),
	}
	switch { // a value that stays gives way to one that changes
	case check.PeriodSeconds == is.PeriodSeconds && check.TimeoutSeconds == is.TimeoutSeconds:
	case s.timeout.Given && !isSet(s.interval):
		check.PeriodSeconds = max(check.PeriodSeconds, check.TimeoutSeconds)
	case !isSet(s.timeout):
		check.TimeoutSeconds = min(check.TimeoutSeconds, check.PeriodSeconds)
	}
	if hasNoPath(check.Protocol) && hasNoPath(is.Protocol) {
		check.Path = is.Path // the path has no meaning
	}
	return &check
}

// hasNoPath reports whether a health check of the protocol has no path. Whether the cloud keeps the path of such a
// check is not documented.
func hasNoPath(protocol string) bool {
	return protocol == resource.ProtocolTCP || protocol == resource.ProtocolUDP
}

// problem describes settings that exclude each other; "" if there are none.
func (s healthSettings) problem() string {
	if s.timeout.Value <= s.interval.Value {
		return ""
	}
	return fmt.Sprintf("The timeout of the health check is %d seconds and its interval is %d seconds: both settings "+
		"do not change. Set health-check-timeout to at most health-check-interval.",
		s.timeout.Value, s.interval.Value)
}

// healthCheckNotices describes settings of existing health checks that cannot be applied.
func (d desired) healthCheckNotices() []cloud.Notice {
	var notices []cloud.Notice
	for _, port := range d.Ports {
		if d.healthCheck(&lastApplied{created: true}, port, nil) == nil {
			continue
		}
		s := d.ports[port.Key].health
		if s.contradiction != "" {
			notices = appendOnce(notices, settingNotice(reasonConflict, "%s", s.contradiction))
		}
		other := s.protocol.Given && !s.protocol.Invalid && s.protocol.Value != resource.ProtocolHTTP
		if d.HealthCheckNodePort != 0 && (other || s.enabled.Given && !s.enabled.Value) {
			notices = appendOnce(notices, settingNotice(reasonConflict, textLocalCheck, label.AnnotationPrefix))
		}
	}
	return notices
}

// usable returns the settings without those that exclude each other: these count as not valid, and a new check gets the
// defaults.
func (s healthSettings) usable(keys healthKeys) healthSettings {
	s = s.withInterval()
	if s.contradiction = s.problem(); s.contradiction != "" {
		s.interval = annotation.Setting[int]{Value: keys.interval.Default(), Invalid: true}
		s.timeout = annotation.Setting[int]{Value: keys.timeout.Default(), Invalid: true}
	}
	return s
}

// withInterval returns the settings with an interval of at least the timeout, if only the timeout is set.
func (s healthSettings) withInterval() healthSettings {
	if !s.interval.Asked() && !s.interval.Invalid {
		s.interval.Value = max(s.interval.Value, s.timeout.Value)
	}
	return s
}

// irremovableNotices describes which health checks cannot be removed.
func (d desired) irremovableNotices(o Observed) []cloud.Notice {
	var notices []cloud.Notice
	for _, port := range d.Ports {
		group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key))
		switch {
		case group == nil || !d.memory.Irremovable[group.ID]:
		case d.healthCheck(new(lastAppliedOf(group.Annotations)), port, group.HealthCheck) == nil:
			notices = append(notices, settingNotice(reasonHealthCheckKept, textHealthCheckKept,
				group.Name, group.HealthCheck.String()))
		}
	}
	return notices
}

// register adds the annotations about health checks.
func (h *healthKeys) register(r *annotation.Registry) {
	define := func(name, example, effect, without string) annotation.Definition {
		return annotation.Definition{
			Name: "health-check-" + name, Topic: topicHealth, Since: since, Example: example, Effect: effect,
			Without: without, PerPort: true,
		}
	}
	h.enabled = annotation.Register(r, define("enabled", "false",
		"Enables health checks. Traffic is sent only to nodes that pass the check. A UDP port is checked only if "+
			"health-check-port is set.", ""), annotation.Bool(), true)
	h.port = annotation.Register(r, define("port", "30080",
		"The port of the nodes that is checked. It takes precedence for Services with externalTrafficPolicy: Local, "+
			"too.",
		"the node port of the Service's port; with externalTrafficPolicy: Local, spec.healthCheckNodePort"),
		annotation.Int(1, 65535, ""), 0)
	h.protocol = annotation.Register(r, define("protocol", "tcp",
		"How a node is checked. tcp opens a connection; http and https send a request for the path and expect a "+
			"successful response; "+
			"udp sends a datagram.",
		"http if health-check-port is set, or with externalTrafficPolicy: Local; otherwise tcp"),
		annotation.Enum("http", "https", "tcp", "udp"), "")
	h.path = annotation.Register(r, define("path", "/ready",
		"The path that http and https checks request.", ""),
		annotation.Word(`/[!-~]{0,254}`,
			"a path that begins with a slash, of at most 255 characters and without blanks"), "/healthz")
	h.interval = annotation.Register(r, define("interval", "15",
		"The time, in seconds, between two checks of a node.", ""), annotation.Int(5, 300, "seconds"), 5)
	h.timeout = annotation.Register(r, define("timeout", "3",
		"The time, in seconds, after which a check without a response fails.", ""), annotation.Int(1, 300, "seconds"),
		3)
	h.up = annotation.Register(r, define("up-threshold", "1",
		"The number of successful checks in a row after which a node receives traffic.", ""), annotation.Int(1, 10,
		"checks"), 1)
	h.down = annotation.Register(r, define("down-threshold", "2",
		"The number of failed checks in a row after which a node receives no traffic.", ""), annotation.Int(1, 10,
		"checks"), 3)
}
