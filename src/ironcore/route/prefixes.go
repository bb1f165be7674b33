package route

import (
	"errors"
	"net/netip"
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
)

// position returns the position of a static prefix; -1 if there is none.
func position(prefixes []networkingv1alpha1.PrefixSource, prefix netip.Prefix) int {
	return slices.IndexFunc(prefixes, func(source networkingv1alpha1.PrefixSource) bool {
		return source.Value != nil && source.Value.Prefix == prefix
	})
}

// errEphemeralBehind is the reason why a static prefix is not removed.
var errEphemeralBehind = errors.New("an ephemeral prefix follows it, whose position must not change: IronCore would " +
	"replace the network of that prefix; append a static prefix of yours behind the ephemeral one, or remove that one")

// remove returns the prefixes without all static ones with this value. IronCore names the objects of ephemeral prefixes
// by their positions: instead of moving them, the last static prefix takes the free position.
func remove(prefixes []networkingv1alpha1.PrefixSource, prefix netip.Prefix) ([]networkingv1alpha1.PrefixSource,
	error) {
	prefixes = slices.Clone(prefixes)
	for at := position(prefixes, prefix); at >= 0; at = position(prefixes, prefix) {
		last := len(prefixes) - 1
		if slices.ContainsFunc(prefixes[at:], isEphemeral) {
			if isEphemeral(prefixes[last]) {
				return nil, errEphemeralBehind
			}
			prefixes[at] = prefixes[last]
			at = last
		}
		prefixes = slices.Delete(prefixes, at, at+1)
	}
	return prefixes, nil
}

func isEphemeral(source networkingv1alpha1.PrefixSource) bool { return source.Value == nil }
