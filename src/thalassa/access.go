package thalassa

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// settingSources is how a listener remembers that its allowed sources are ours.
const settingSources = "allowed-sources"

// legacySourceRanges is the annotation that was there before spec.loadBalancerSourceRanges, and means the same.
const legacySourceRanges = corev1.AnnotationLoadBalancerSourceRangesKey

// sources are the networks that may reach a port: sorted, without duplicates. None means everybody.
type sources = annotation.Setting[[]netip.Prefix]

// rangesOf returns what the Service's spec says about sources, as every provider understands it.
func rangesOf(service *corev1.Service) (ranges sources, problem *annotation.Problem) {
	texts, field := service.Spec.LoadBalancerSourceRanges, "spec.loadBalancerSourceRanges"
	if text := strings.TrimSpace(service.Annotations[legacySourceRanges]); len(texts) == 0 && text != "" {
		texts, field = strings.Split(text, ","), legacySourceRanges
	}
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			// The API server checks both; what it let through before it did is refused here.
			return sources{Given: true, Invalid: true}, &annotation.Problem{Annotation: field, Value: text,
				Want: "a network like 192.0.2.0/24"}
		}
		ranges.Given = true
		ranges.Value = append(ranges.Value, prefix.Masked())
	}
	ranges.Value = ordered(ranges.Value)
	return ranges, nil
}

// union is what several settings allow together. One that cannot be used makes the whole unusable: without it, who is
// allowed is not known. An empty one asks for nothing.
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

// sourcesOf reads a listener's allowed sources; known is false when one of them cannot be understood.
func sourcesOf(listener inventory.Listener) (found []netip.Prefix, known bool) {
	for _, text := range listener.AllowedSources {
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

// narrows says that a listener is to let in fewer than it does, and nobody else.
func narrows(from, to []string) bool {
	before, known := sourcesOf(inventory.Listener{AllowedSources: from})
	after, readable := sourcesOf(inventory.Listener{AllowedSources: to})
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

// sourceTexts is how the API takes them.
func sourceTexts(prefixes []netip.Prefix) []string {
	texts := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		texts = append(texts, prefix.String())
	}
	return texts
}

// sourcesText is one line for plans and notices.
func sourcesText(texts []string) string {
	if len(texts) == 0 {
		return "everybody"
	}
	return strings.Join(texts, ", ")
}

// aimSources gives a listener the sources that its port should have. What somebody set by hand on a port without any is
// theirs: to open it could be a mistake.
func aimSources(own *memo, wanted sources, listener *inventory.Listener) {
	switch {
	case wanted.Invalid:
		return
	case wanted.Given:
		own.traces = own.with(settingSources)
	case own.has(settingSources):
		own.traces = own.without(settingSources)
	default:
		return
	}
	if observed, known := sourcesOf(*listener); !known || !slices.Equal(observed, wanted.Value) {
		listener.AllowedSources = sourceTexts(wanted.Value)
	}
}

// keptSources says that a port is closed to most although its Service does not ask for that; "" when it is not.
func (d desired) keptSources(wanted sources, port string, listener inventory.Listener) string {
	if wanted.Given || len(listener.AllowedSources) == 0 ||
		d.memoOf(listener.Labels, listener.Annotations).has(settingSources) {
		return ""
	}
	return fmt.Sprintf("Port %s accepts connections from %s only. This Service does not configure these sources. "+
		"They were set in the cloud, or by a previous controller, and do not change, "+
		"because opening the port could be a mistake. To open it, set %sacl-allowed-sources to 0.0.0.0/0,::/0.", port,
		sourcesText(listener.AllowedSources), annotationPrefix)
}
