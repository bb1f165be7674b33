// Package providerid has the provider IDs of Nodes on IronCore: "ironcore://<namespace>/<machine>". The machine
// controller manager of Gardener sets the same ones.
package providerid

import (
	"fmt"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Scheme is the name of the cloud, and the scheme of its provider IDs.
const Scheme = "ironcore"

// Of returns the provider ID of a machine.
func Of(namespace, machine string) string { return Scheme + "://" + namespace + "/" + machine }

// Owned reports whether a provider ID is of this cloud, whatever it names.
func Owned(id string) bool { return strings.HasPrefix(id, Scheme+"://") }

// Machine returns the name of the machine that a provider ID names. The error is cloud.ErrInvalidProviderID if it names
// none in this namespace.
func Machine(namespace, id string) (string, error) {
	machine, found := strings.CutPrefix(id, Of(namespace, ""))
	if !found || machine == "" || strings.Contains(machine, "/") {
		return "", fmt.Errorf("%w: %q is not %s", cloud.ErrInvalidProviderID, id, Of(namespace, "<machine>"))
	}
	return machine, nil
}
