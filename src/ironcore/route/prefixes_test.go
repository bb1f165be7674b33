package route

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// prefixesOf returns prefixes: a number n is 10.244.n.0/24, another text is an ephemeral prefix of that name.
func prefixesOf(text string) []networkingv1alpha1.PrefixSource {
	var prefixes []networkingv1alpha1.PrefixSource
	for field := range strings.FieldsSeq(text) {
		prefix, err := netip.ParsePrefix("10.244." + field + ".0/24")
		source := networkingv1alpha1.PrefixSource{Value: &commonv1alpha1.IPPrefix{Prefix: prefix}}
		if err != nil {
			source = networkingv1alpha1.PrefixSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
				PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: ipamv1alpha1.PrefixSpec{
					IPFamily: corev1.IPv4Protocol, PrefixLength: 28,
					ParentRef: &corev1.LocalObjectReference{Name: "internal"}}}}}
		}
		prefixes = append(prefixes, source)
	}
	return prefixes
}

// textOf returns prefixes in the form of prefixesOf; ephemeral ones are "e".
func textOf(prefixes []networkingv1alpha1.PrefixSource) string {
	texts := make([]string, len(prefixes))
	for i, source := range prefixes {
		texts[i] = "e"
		if source.Value != nil {
			texts[i] = strings.Split(source.Value.String(), ".")[2]
		}
	}
	return strings.Join(texts, " ")
}

// TestRemove: ephemeral prefixes keep their positions when 10.244.1.0/24 is removed, or nothing is.
func TestRemove(t *testing.T) {
	for name, tt := range map[string]struct{ from, want string }{
		"the only one":                   {"1", ""},
		"order of static ones":           {"2 1 3 4", "2 3 4"},
		"twice":                          {"1 2 1", "2"},
		"it is not there":                {"2 e 3", "2 e 3"},
		"ephemeral before":               {"e 1", "e"},
		"ephemeral before, static after": {"e 1 2 3", "e 2 3"},
		"ephemeral behind, then static":  {"1 e 2", "2 e"},
		"the last static one moves":      {"1 e 2 3", "3 e 2"},
		"ephemeral between two of it":    {"1 2 e 1 3", "3 2 e"},
		"ephemeral on both sides":        {"e 1 e 2", "e 2 e"},
		"ephemeral is the last":          {"1 e", "error"},
		"static between":                 {"1 2 e", "error"},
		"twice, ephemeral between":       {"1 e 1", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			from := prefixesOf(tt.from)
			got, err := remove(from, prefixesOf("1")[0].Value.Prefix)
			text := textOf(got)
			if errors.Is(err, errEphemeralBehind) {
				text = "error"
			}
			if text != tt.want {
				t.Errorf("got %q and %v, want %q", text, err, tt.want)
			}
			if textOf(from) != tt.from {
				t.Errorf("the argument became %q", textOf(from))
			}
		})
	}
}
