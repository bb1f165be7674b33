package node

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
)

// plainInstances are machines of a cloud behind the adapter. All of them have the same metadata.
type plainInstances struct {
	cloudprovider.InstancesV2
	metadata *cloudprovider.InstanceMetadata
}

func (i plainInstances) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return i.metadata, nil
}

// TestControllerOfCloudProviderInterface: without metadata nothing is written, and nothing panics; with metadata the
// Node is initialised.
func TestControllerOfCloudProviderInterface(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.register("a", nil)
		instances := &plainInstances{}
		r.startWith(adapter.Machines("plain", instances), 1)
		r.pass(2 * resyncPeriod)
		r.want("writes without metadata", r.written(), "")
		r.want("events without metadata", len(r.warnings()), 0)
		instances.metadata = &cloudprovider.InstanceMetadata{ProviderID: "plain://1",
			NodeAddresses: addresses("in 10.0.0.1")}
		r.change("a", func(n *corev1.Node) { n.Labels["x"] = "y" })
		r.pass(time.Second)
		r.want("writes", r.written(), "a status, a")
		r.want("provider ID", r.node("a").Spec.ProviderID, "plain://1")
		if diff := cmp.Diff(addresses("in 10.0.0.1, host a"), r.node("a").Status.Addresses); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	})
}
