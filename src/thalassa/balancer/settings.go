package balancer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// settings are the Service's annotations and spec, parsed.
type settings struct {
	annotations annotations
	values      annotation.Values

	internal annotation.Setting[bool]
	ranges   sources // of the spec
	ports    map[cloud.Key]portSettings
}

// portSettings are the settings of one port.
type portSettings struct {
	policy        annotation.Setting[string]
	proxyProtocol annotation.Setting[bool]
	listener      []annotation.Setting[uint32] // of annotations.listener
	sources       sources
	health        healthSettings
}

// read returns the Service's settings, and notices about mistakes.
func (a annotations) read(service *corev1.Service) (settings, []cloud.Notice) {
	ports := annotation.PortsOf(service)
	values, problems := a.registry.ParseService(service)
	s := settings{annotations: a, values: values, ports: make(map[cloud.Key]portSettings, len(ports))}
	var notices []cloud.Notice
	for _, problem := range problems {
		if problem.Foreign {
			notices = append(notices, foreignNotice(problem))
			continue
		}
		notices = append(notices, settingNotice(reasonAnnotation, "%s", problemText(problem)))
	}
	var problem *annotation.Problem
	if s.ranges, problem = rangesOf(service); problem != nil {
		notices = append(notices, settingNotice(reasonAnnotation, "%s", problemText(*problem)))
	}
	kind, internal := a.kind.From(values), a.internal.From(values)
	s.internal = internalOf(kind, internal)
	if contradicts(kind, internal) {
		notices = append(notices, settingNotice(reasonConflict, textTypeConflict, label.AnnotationPrefix))
	}
	for i, port := range service.Spec.Ports {
		of := s.portOf(ports[i])
		of.health = of.health.usable(a.healthCheck)
		s.ports[cloud.Key{Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), Port: port.Port}] = of
	}
	return s, notices
}

// problemText describes a mistake and its effect.
func problemText(problem annotation.Problem) string {
	name := strings.TrimPrefix(problem.Annotation, label.AnnotationPrefix)
	if problem.Meant != "" {
		return problem.String() + adviceMeant
	}
	if problem.Name || !strings.HasPrefix(name, "acl-") && strings.HasPrefix(problem.Annotation,
		label.AnnotationPrefix) {
		return problem.String()
	}
	return problem.String() +
		adviceSources
}

// portOf returns the settings of one port.
func (s settings) portOf(port annotation.Port) portSettings {
	a, v := s.annotations, s.values
	check := a.healthCheck
	var listener []annotation.Setting[uint32]
	for _, one := range a.listener {
		listener = append(listener, unsigned(one.key.For(v, port)))
	}
	return portSettings{
		policy: a.policy.For(v, port), proxyProtocol: a.proxyProtocol.For(v, port), listener: listener,
		sources: union(append(a.portSources.For(v, port), a.allowedSources.From(v), s.ranges)...),
		health: healthSettings{
			enabled: check.enabled.For(v, port), port: check.port.For(v, port), path: check.path.For(v, port),
			protocol: check.protocol.For(v, port),
			interval: check.interval.For(v, port), timeout: check.timeout.For(v, port), up: check.up.For(v, port),
			down: check.down.For(v, port),
		},
	}
}

// internalOf reads both annotations for the type. The existing CCM reads only the annotation internal, which therefore
// takes precedence, unless it would make public what the other one makes internal: then the type is not known.
func internalOf(kind annotation.Setting[string], internal annotation.Setting[bool]) annotation.Setting[bool] {
	says := kind.Value == typeInternal
	asked := annotation.Setting[bool]{Given: kind.Given || internal.Given, Invalid: kind.Invalid || internal.Invalid ||
		contradicts(kind, internal)}
	switch {
	case internal.Given:
		asked.Value = internal.Value
	case kind.Given:
		asked.Value = says
	default:
		asked.Value = internal.Value || says
	}
	return asked
}

// contradicts reports whether both annotations are valid and exclude each other.
func contradicts(kind annotation.Setting[string], internal annotation.Setting[bool]) bool {
	return kind.Given && internal.Given && kind.Value == typeInternal && !internal.Value
}

// unsigned converts a number whose range was checked before.
func unsigned(s annotation.Setting[int]) annotation.Setting[uint32] {
	return annotation.Setting[uint32]{Value: uint32(s.Value), Given: s.Given, Invalid: s.Invalid}
}

func settingNotice(reason, format string, values ...any) cloud.Notice {
	return cloud.Notice{Topic: cloud.Settings, Reason: reason, Message: fmt.Sprintf(format, values...)}
}

// appendOnce adds a notice unless it is there: several ports may have the same problem.
func appendOnce(notices []cloud.Notice, notice cloud.Notice) []cloud.Notice {
	if slices.Contains(notices, notice) {
		return notices
	}
	return append(notices, notice)
}

// CheckDefaults reports values that cannot be defaults of Services.
func CheckDefaults(c cloudconfig.Config, file *configfile.File) {
	defaults := newAnnotations()
	problems := defaults.registry.SetDefaults(c.LoadBalancer.Defaults)
	for _, problem := range problems {
		path := "loadBalancer.defaults." + problem.Annotation
		switch {
		case !configfile.Matching(cloudconfig.AnnotationNames, "").Allows(
			problem.Annotation): // the rule of the key reports it
		case problem.Name:
			file.Add(path, "", problem.Want)
		default:
			file.Add(path, strconv.Quote(problem.Value), "want "+problem.Want)
		}
	}
	if len(problems) > 0 {
		return
	}
	kind, internal := defaults.kind.From(annotation.Values{}), defaults.internal.From(annotation.Values{})
	if _, said := c.LoadBalancer.Defaults[nameInternal]; said && kind.Value == typeInternal && !internal.Value {
		file.Add("loadBalancer.defaults", "type: internal together with internal: false", "want only one of them")
	}
	check := settings{annotations: defaults}.portOf(annotation.Port{}).health.withInterval()
	if check.problem() != "" {
		file.Add("loadBalancer.defaults", fmt.Sprintf("health-check-timeout %d and health-check-interval %d",
			check.timeout.Value, check.interval.Value),
			"want a timeout of at most the interval; a value that is not set here has the default of its annotation")
	}
}
