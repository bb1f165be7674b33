package balancer

import (
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// registerInternal adds the annotation for internal load balancers, and the words of names that probably mean it: a
// load balancer that should be internal must never be public.
func (a *annotations) registerInternal() {
	name := strings.TrimPrefix(label.Internal, label.ServicePrefix)
	a.internal = annotation.Register(a.registry, annotation.Definition{
		Name: name, Topic: "Addresses", Since: "0.1.0", Example: "true", OneService: true,
		Effect: "true gives the load balancer addresses of the Network of the cluster, from the Prefixes that " +
			"prefixName and prefixNameIPv6 in the cloud-config file name, instead of public ones. After a change of " +
			"the value, the load balancer is deleted and created again: its addresses change, and there is no " +
			"traffic in the meantime.",
	}, annotation.Bool(), false)
	a.registry.Suspect(name, "internal", "private", "scheme")
}

// keepPublic returns the settings with which a load balancer stays public that the former program has made public: it
// takes only "true" for true.
func (s settings) keepPublic(service *corev1.Service, actual *networkingv1alpha1.LoadBalancer) settings {
	value := service.Annotations[label.Internal]
	if actual == nil || !s.internal || value == "true" || isInternal(actual) ||
		!owns(fieldsOf(actual.ManagedFields, label.FormerFieldManager), pathsOf([]string{"type"}, "spec")[0]) {
		return s
	}
	s.internal = false
	s.notices = append(s.notices, settingNotice(reasonAnnotation, textKeptPublic, label.Internal, value))
	return s
}
