package thalassa

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
)

var _ cloud.ClusterIdentity = (*balancers)(nil)

// SetUID implements cloud.ClusterIdentity.
func (b *balancers) SetUID(uid types.UID) {
	b.uid.Set(uid)
	b.inventory.Forget()
}

// ListForeign implements cloud.ClusterIdentity.
func (b *balancers) ListForeign(ctx context.Context) ([]cloud.ManagedObject, error) {
	all, groups, securityGroups, err := b.inventory.Foreign(ctx, b.config.Inventory.MaxBalancerAge())
	if err != nil {
		return nil, err
	}
	return balancer.ManagedObjects(all, groups, securityGroups, nil), nil
}

// RunningTargets implements cloud.ClusterIdentity.
func (b *balancers) RunningTargets(ctx context.Context, objects []cloud.ManagedObject) ([]string, error) {
	if b.uid.Own() == "" {
		return nil, cloud.ErrNoClusterUID
	}
	ids := make([]string, 0, len(objects))
	for _, object := range objects {
		ids = append(ids, object.Identity)
	}
	return b.inventory.RunningTargets(ctx, ids)
}

// prove marks the objects that have the UID of this cluster.
func (b *balancers) prove(objects []cloud.ManagedObject) []cloud.ManagedObject {
	for i := range objects {
		objects[i].Proven = b.uid.Proves(string(objects[i].ClusterUID))
	}
	return objects
}
