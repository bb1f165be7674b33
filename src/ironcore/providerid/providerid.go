// Package providerid has the provider IDs of Nodes on IronCore: "ironcore://<namespace>/<machine>". The machine
// controller manager of Gardener sets the same ones.
package providerid

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
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

// MachineOf returns the name of the machine of a Node. The error is cloud.ErrInvalidProviderID if the provider ID of
// the Node names none in this namespace, or one that does not have the name of the Node.
func MachineOf(namespace string, node *corev1.Node) (string, error) {
	machine, err := Machine(namespace, node.Spec.ProviderID)
	if err == nil && machine != node.Name {
		err = fmt.Errorf("%w that belongs to the Node: %q names the machine %s, and a Node has the name of its machine",
			cloud.ErrInvalidProviderID, node.Spec.ProviderID, machine)
	}
	if err != nil {
		return "", err
	}
	return machine, nil
}

// OtherCluster returns the error for a machine with the label of another cluster. It contains
// cloud.ErrInvalidProviderID.
func OtherCluster(machine, other, cluster string) error {
	return fmt.Errorf("%w of this cluster: the label %s of machine %s is %s, not %s", cloud.ErrInvalidProviderID,
		label.Cluster, machine, other, cluster)
}
