package manager

import (
	"context"

	"k8s.io/cloud-provider/names"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// identify passes the UID of the cluster to the cloud, if Services have load balancers. Without an answer it waits,
// because the controllers need the API server, too. If the UID may not be read, they work without it until it may, and
// delete no orphans.
func (p *process) identify(ctx context.Context) {
	if _, runs := p.controllers[names.ServiceLBController]; !runs || p.cloud.ClusterIdentity == nil {
		return
	}
	cloud.FindClusterUID(ctx, p.config.Client, p.cloud.ClusterIdentity.SetUID)
}
