package inventory

import (
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// The words of the API are those of the official client.
func TestWords(t *testing.T) {
	for ours, theirs := range map[string]string{
		resource.PolicyRoundRobin: string(iaas.LoadbalancingPolicyRoundRobin),
		resource.PolicyRandom:     string(iaas.LoadbalancingPolicyRandom),
		resource.PolicyMaglev:     string(iaas.LoadbalancingPolicyMagLev),
		resource.ProtocolTCP:      string(iaas.ProtocolTCP),
		resource.ProtocolUDP:      string(iaas.ProtocolUDP),
		resource.ProtocolHTTP:     string(iaas.ProtocolHTTP),
		resource.ProtocolHTTPS:    string(iaas.ProtocolHTTPS),
	} {
		if ours != theirs {
			t.Errorf("%q is %q in the official client", ours, theirs)
		}
	}
}
