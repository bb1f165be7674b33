// Package providerid is the form of the provider IDs of this cloud's machines.
package providerid

import (
	"fmt"
	"regexp"
	"strings"
)

// Scheme is the scheme of provider IDs. It must never change: nodes that were initialised by any earlier
// version, or by the CCM this one replaces, carry it.
const Scheme = "thalassacloud"

// pattern is the format that the existing CCM accepts: thalassacloud://<machine identity>.
var pattern = regexp.MustCompile(`^` + Scheme + `://([0-9A-Za-z_-]+)$`)

// Of returns the provider ID of a machine.
func Of(machine string) string { return Scheme + "://" + machine }

// Owned reports whether a provider ID is of this cloud, whatever it names.
func Owned(providerID string) bool { return strings.HasPrefix(providerID, Scheme+"://") }

// Machine returns the identity of the machine in a provider ID. A provider ID of another cloud is an error.
func Machine(providerID string) (string, error) {
	match := pattern.FindStringSubmatch(providerID)
	if match == nil {
		return "", fmt.Errorf("providerID %q is not of this cloud: want %s://<machine identity>", providerID,
			Scheme)
	}
	return match[1], nil
}
