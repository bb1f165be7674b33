package balancer

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// registerInternal adds the annotation for internal load balancers, and the words of names that probably mean it: a
// load balancer that should be internal must never be public.
func (a *annotations) registerInternal() {
	name := strings.TrimPrefix(label.Internal, label.ServicePrefix)
	a.internal = annotation.Register(a.registry, annotation.Definition{
		Name: name, Topic: "Addresses", Since: "0.1.0", Example: "true", OneService: true,
		Effect: "true gives the load balancer addresses of the Network of the cluster, from the Prefix that " +
			"prefixName in the cloud-config file names, instead of public ones. A change of the value changes the " +
			"type of the load balancer in place, and its addresses.",
	}, annotation.Bool(), false)
	a.registry.Suspect(name, "internal", "private", "scheme")
}
