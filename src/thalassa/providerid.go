package thalassa

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// ProviderName is the value of --cloud-provider and the scheme of providerIDs. It must never change: nodes that were
// initialised by any earlier version, or by the CCM this one replaces, carry it.
const ProviderName = "thalassacloud"

// providerIDPattern is the format that the existing CCM accepts: thalassacloud://<machine identity>.
var providerIDPattern = regexp.MustCompile(`^` + ProviderName + `://([0-9A-Za-z_-]+)$`)

// providerID returns the provider ID of a machine.
func providerID(machine string) string { return ProviderName + "://" + machine }

// machineOf returns the identity of the machine in a provider ID. A provider ID of another cloud is an error.
func machineOf(providerID string) (string, error) {
	match := providerIDPattern.FindStringSubmatch(providerID)
	if match == nil {
		return "", fmt.Errorf("providerID %q is not of this cloud: want %s://<machine identity>", providerID,
			ProviderName)
	}
	return match[1], nil
}

// identify returns the identity of a Node's machine for load balancers.
func identify(node *corev1.Node) (string, bool) {
	machine, err := machineOf(node.Spec.ProviderID)
	return machine, err == nil
}
