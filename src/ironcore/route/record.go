package route

import (
	"net/netip"
	"slices"
	"strings"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// record returns the last-applied record of a network interface: the cluster that manages prefixes there, and these
// prefixes. The cluster is "" if there is no record. Parts that are no prefixes are ignored.
func record(one *networkingv1alpha1.NetworkInterface) (cluster string, managed []netip.Prefix) {
	cluster, rest, _ := strings.Cut(one.Annotations[label.Routes], " ")
	for text := range strings.FieldsSeq(rest) {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			managed = append(managed, prefix)
		}
	}
	return cluster, managed
}

// recordText returns a record as text: "blue 10.244.1.0/24 fd00:1::/64". It is "" without prefixes.
func recordText(cluster string, managed []netip.Prefix) string {
	if len(managed) == 0 {
		return ""
	}
	texts := make([]string, len(managed))
	for i, prefix := range managed {
		texts[i] = prefix.String()
	}
	slices.Sort(texts)
	return cluster + " " + strings.Join(texts, " ")
}
