package inventory

import (
	"context"
	"net/url"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// LoadBalancerByID requests the load balancer of the VPC with the identity, with or without labels of this cluster. It
// does not use the list.
func (i *Inventory) LoadBalancerByID(ctx context.Context, id string) (balancer LoadBalancer, found bool, err error) {
	item, found, err := byID[balancerItem](ctx, i.cloud, iaas.LoadbalancerEndpoint, id)
	balancer = item.object()
	if err != nil || !found || item.VPC.Identity != i.vpc || balancer.gone() {
		return LoadBalancer{}, false, err
	}
	return balancer, true, nil
}

// TargetGroupByID requests the target group of the VPC with the identity, in the same way.
func (i *Inventory) TargetGroupByID(ctx context.Context, id string) (group TargetGroup, found bool, err error) {
	item, found, err := byID[groupItem](ctx, i.cloud, iaas.TargetGroupEndpoint, id)
	if err != nil || !found || item.VPC.Identity != i.vpc {
		return TargetGroup{}, false, err
	}
	return item.object(), true, nil
}

// byID requests the object with the identity. The API also accepts slugs, so it may return another object, which is
// ignored.
func byID[Item interface{ identity() string }](ctx context.Context, cloud *client.Client, collection,
	id string) (item Item, found bool, err error) {
	item, err = client.Get[Item](ctx, cloud, collection+"/"+url.PathEscape(id))
	if isGone(err) {
		return item, false, nil
	}
	return item, err == nil && item.identity() == id, err
}
