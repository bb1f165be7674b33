package balancer

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// nameMaxTargets is the annotation that limits how many nodes a load balancer sends to.
const nameMaxTargets = "max-targets"

// registerMaxTargets adds the annotation.
func (a *annotations) registerMaxTargets() {
	a.maxTargets = annotation.Register(a.registry, annotation.Definition{
		Name: nameMaxTargets, Topic: topicPorts, Since: "0.2.0", Example: "250", OneService: true,
		Effect: "The largest number of nodes that receive traffic, evenly from all zones. Each Service has other " +
			"nodes. 0 is no limit. It does not apply with externalTrafficPolicy: Local, where all nodes with a ready " +
			"pod receive traffic.",
		Without: "loadBalancer.maxTargets of the cloud-config",
	}, annotation.Int(0, cloudconfig.MaxTargetsLimit, "nodes"), 0)
}

// subset returns the usable targets, or some of them if the number of targets is limited, given those in the cloud.
// With the policy Local the number is not limited: only nodes with a ready endpoint are targets then, and each of them
// has a share of the pods.
func (r Request) subset(usable cloud.Targets, observed []string, settling bool) cloud.Targets {
	limit := r.maxTargets()
	if limit == 0 || helpers.RequestsOnlyLocalTraffic(r.service) {
		return usable
	}
	return usable.Subset(string(r.service.UID), limit, observed, settling)
}

// maxTargets returns the largest number of targets; 0 if there is no limit. If the annotation is invalid, the limit of
// the cluster applies, and no target is removed because of it: too many targets are no failure, too few may be one.
func (r Request) maxTargets() int {
	switch setting := r.annotations.maxTargets.From(r.values); {
	case setting.Invalid && r.config.maxTargets > 0:
		return max(r.config.maxTargets, len(r.observed.machines()))
	case setting.Given:
		return setting.Value
	}
	return r.config.maxTargets
}

// machines returns the machines of all target groups, sorted.
func (o Observed) machines() []string {
	var all []string
	for _, group := range o.Groups {
		all = append(all, group.Machines...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxTargetsNotices describes that the number of targets is not limited although the Service asks for it.
func (d desired) maxTargetsNotices(service *corev1.Service) []cloud.Notice {
	setting := d.annotations.maxTargets.From(d.values)
	if !setting.Given || setting.Value == 0 || !helpers.RequestsOnlyLocalTraffic(service) {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonUnsupported, fmt.Sprintf(
		"Annotation %s%s has no effect while spec.externalTrafficPolicy is Local: all nodes with a ready endpoint "+
			"receive traffic. Remove the annotation, or set the policy to Cluster.",
		label.AnnotationPrefix, nameMaxTargets))}
}
