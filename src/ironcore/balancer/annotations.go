package balancer

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// annotations are the Service annotations of this cloud. Each one is in a file of its own.
type annotations struct {
	registry *annotation.Registry
	internal annotation.Key[bool]
}

func newAnnotations() annotations {
	a := annotations{registry: annotation.NewRegistry(label.ServicePrefix)}
	a.registerInternal()
	a.registry.Decline(annotation.Declined{Name: "max-targets", Why: "is not supported: the number of " +
		"destinations of a load balancer of IronCore cannot be limited"})
	replaceOthers(a.registry)
	return a
}

// Registry returns the registry of this cloud's Service annotations, for what is generated from it.
func Registry() *annotation.Registry { return newAnnotations().registry }

// settings are the annotations of a Service, parsed.
type settings struct {
	internal bool
	notices  []cloud.Notice // about mistakes
	// refused is the reason why the load balancer is not created, and does not change; nil if there is none.
	refused error
}

// read returns the settings of a Service.
func (a annotations) read(service *corev1.Service) settings {
	values, problems := a.registry.ParseService(service)
	internal := a.internal.From(values)
	s := settings{internal: internal.Value}
	var refusals []string
	for _, problem := range problems {
		message, reason := problem.String(), reasonAnnotation
		if problem.Foreign && problem.Meant == "" {
			message, reason = message+".", reasonSettings
		}
		if internal.Invalid && (!problem.Name || problem.Meant != "") {
			message = event.Sentences(message, "Until it is corrected or removed, the load balancer is not created, "+
				"and only its targets change")
			refusals = append(refusals, message)
		}
		s.notices = append(s.notices, cloud.Notice{Topic: cloud.Settings, Reason: reason, Message: message})
	}
	if internal.Invalid {
		s.refused = errors.New(event.Sentences(refusals...))
	}
	return s
}
