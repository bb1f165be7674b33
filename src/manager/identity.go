package manager

import (
	"context"

	"k8s.io/cloud-provider/names"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// identify tells the cloud the UID of the cluster, if Services have load balancers. Without an answer it waits, because
// the controllers need the API server, too. If the UID cannot be read at all, they work without it, and delete no
// orphans.
func (p *process) identify(ctx context.Context) {
	if _, runs := p.controllers[names.ServiceLBController]; !runs || p.cloud.ClusterIdentity == nil {
		return
	}
	if uid := cloud.AwaitClusterUID(ctx, p.config.Client); uid != "" {
		p.cloud.ClusterIdentity.SetUID(uid)
	}
}
