package balancer

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// settingSources is the entry of a listener's record for its allowed sources.
const settingSources = "allowed-sources"

// sourceRangesAnnotation is the predecessor of spec.loadBalancerSourceRanges, with the same meaning.
const sourceRangesAnnotation = corev1.AnnotationLoadBalancerSourceRangesKey

// sources are the networks that may connect to a port: sorted, without duplicates. If there are none, every address
// may.
type sources = annotation.Setting[[]netip.Prefix]

// rangesOf returns the sources in the Service's spec.
func rangesOf(service *corev1.Service) (ranges sources, problem *annotation.Problem) {
	texts, field := service.Spec.LoadBalancerSourceRanges, "spec.loadBalancerSourceRanges"
	if text := strings.TrimSpace(service.Annotations[sourceRangesAnnotation]); len(texts) == 0 && text != "" {
		texts, field = strings.Split(text, ","), sourceRangesAnnotation
	}
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			// The API server validates both. This is for objects that are older than its validation.
			return sources{Given: true, Invalid: true}, &annotation.Problem{Annotation: field, Value: text,
				Want: "a network like 192.0.2.0/24"}
		}
		ranges.Given = true
		ranges.Value = append(ranges.Value, prefix.Masked())
	}
	ranges.Value = ordered(ranges.Value)
	return ranges, nil
}

// union returns the sources that several settings allow together. If one of them is not valid, the result is not valid,
// because the allowed sources are then not known. An empty setting has no effect.
func union(all ...sources) sources {
	var together sources
	for _, one := range all {
		together.Invalid = together.Invalid || one.Invalid
		together.Given = together.Given || len(one.Value) > 0 || one.Invalid
		together.Value = append(together.Value, one.Value...)
	}
	together.Value = ordered(together.Value)
	return together
}

func ordered(prefixes []netip.Prefix) []netip.Prefix {
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return a.Compare(b) })
	return slices.Compact(prefixes)
}

// sourcesOf reads allowed sources of a listener; known is false if one of them cannot be parsed.
func sourcesOf(texts []string) (found []netip.Prefix, known bool) {
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, false
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		found = append(found, prefix.Masked())
	}
	return ordered(found), true
}

// narrows reports whether a change of allowed sources only removes sources.
func narrows(from, to []string) bool {
	before, known := sourcesOf(from)
	after, readable := sourcesOf(to)
	if !known || !readable || len(after) == 0 || slices.Equal(before, after) {
		return false
	}
	within := func(one netip.Prefix) bool {
		return slices.ContainsFunc(before, func(all netip.Prefix) bool {
			return all.Overlaps(one) && all.Bits() <= one.Bits()
		})
	}
	return len(before) == 0 || !slices.ContainsFunc(after, func(one netip.Prefix) bool { return !within(one) })
}

// sourceTexts returns the prefixes as the API expects them.
func sourceTexts(prefixes []netip.Prefix) []string {
	texts := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		texts = append(texts, prefix.String())
	}
	return texts
}

// sourcesText formats sources for plans and notices.
func sourcesText(texts []string) string { return cmp.Or(strings.Join(texts, ", "), "everybody") }

// setSources sets the listener's allowed sources. If the Service asks for none, sources that were set by hand stay,
// because opening the port could be a mistake.
func setSources(record *lastApplied, wanted sources, listener *resource.Listener) {
	switch {
	case wanted.Invalid:
		return
	case wanted.Given:
		*record = record.with(settingSources)
	case record.has(settingSources):
		*record = record.without(settingSources)
	default:
		return
	}
	if observed, known := sourcesOf(listener.AllowedSources); !known || !slices.Equal(observed, wanted.Value) {
		listener.AllowedSources = sourceTexts(wanted.Value)
	}
}

// keptSourcesNotices describes the ports that accept only some sources although the Service does not ask for that.
func (d desired) keptSourcesNotices(o Observed) []cloud.Notice {
	var notices []cloud.Notice
	for _, port := range d.Ports {
		listener := o.listener(port.Key)
		if listener == nil || len(listener.AllowedSources) == 0 || d.ports[port.Key].sources.Given ||
			d.recordOf(listener.Labels, listener.Annotations).has(settingSources) {
			continue
		}
		notices = append(notices, settingNotice(reasonSourcesKept, textSourcesKept, port.Key.String(),
			sourcesText(listener.AllowedSources), label.AnnotationPrefix))
	}
	return notices
}

// registerAccess adds the annotations about allowed sources and security groups.
func (a *annotations) registerAccess() {
	r := a.registry
	a.allowedSources = annotation.Register(r, annotation.Definition{
		Name: nameAllowedSources, Topic: topicAccess, Since: since, Example: "203.0.113.0/24,2001:db8::/32",
		Effect: "Networks that may connect to every port, in addition to spec.loadBalancerSourceRanges. An empty " +
			"value adds none.",
		Without: "all networks, unless spec.loadBalancerSourceRanges or the port's acl-port- annotation is set",
	}, annotation.Sources(), nil)
	a.portSources = annotation.RegisterFamily(r, annotation.Definition{
		Name: "acl-port-", Topic: topicAccess, Since: since, Example: "198.51.100.7",
		Effect: "Networks that may connect to this port, in addition to acl-allowed-sources and " +
			"spec.loadBalancerSourceRanges. If neither " +
			"of these is set, only the networks of this annotation may connect.",
		Without: "the networks of acl-allowed-sources",
	}, annotation.Sources())
	a.securityGroups = annotation.Register(r, annotation.Definition{
		Name: nameSecurityGroups, Topic: topicAccess, Since: since, Example: "sg-0123456789",
		Effect: "Security groups of the VPC that are attached to the load balancer. Groups that were attached by " +
			"other means stay attached. " +
			"An empty value, or removal of the annotation, detaches the groups that this annotation attached.",
		Without: "none",
	}, annotation.Names(maxGroups), nil)
	a.createSecurityGroup = annotation.Register(r, annotation.Definition{
		Name: nameCreateGroup, Topic: topicAccess, Since: since, Example: "true",
		Effect: "Creates a security group for the load balancer that permits the Service's ports and allowed " +
			"sources, and keeps it up to date. " +
			"If it is false or not set, the group is deleted.",
	}, annotation.Bool(), false)
	a.allowICMP = annotation.Register(r, annotation.Definition{
		Name: "security-group-allow-icmp", Topic: topicAccess, Since: since, Example: "true",
		Effect: "Permits ICMP (ping) in the security group that create-security-group creates.",
	}, annotation.Bool(), false)
	a.icmpSources = annotation.Register(r, annotation.Definition{
		Name: "security-group-icmp-allowed-sources", Topic: topicAccess, Since: since, Example: "10.0.0.0/8",
		Effect: "Networks that may send ICMP (ping). It requires security-group-allow-icmp. An empty value permits " +
			"none.",
		Without: "the networks of acl-allowed-sources",
	}, annotation.Sources(), nil)
}
