package inventory

import (
	"context"
	"net/url"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// LoadBalancerByID asks the cloud for the load balancer with that identity, not through the list: any of the VPC,
// whoever it belongs to.
func (i *Inventory) LoadBalancerByID(ctx context.Context, id string) (balancer LoadBalancer, found bool, err error) {
	item, found, err := byID[balancerItem](ctx, i.cloud, iaas.LoadbalancerEndpoint, id)
	balancer = item.object()
	if err != nil || !found || item.VPC.Identity != i.vpc || balancer.gone() {
		return LoadBalancer{}, false, err
	}
	return balancer, true, nil
}

// TargetGroupByID asks the cloud for the target group with that identity, in the same way.
func (i *Inventory) TargetGroupByID(ctx context.Context, id string) (group TargetGroup, found bool, err error) {
	item, found, err := byID[groupItem](ctx, i.cloud, iaas.TargetGroupEndpoint, id)
	if err != nil || !found || item.VPC.Identity != i.vpc {
		return TargetGroup{}, false, err
	}
	return item.object(), true, nil
}

// byID reads the object with that identity. The API takes slugs for identities, so that another one may be shown, which
// is not meant.
func byID[Item interface{ identity() string }](ctx context.Context, cloud *client.Client, collection,
	id string) (item Item, found bool, err error) {
	item, err = client.Get[Item](ctx, cloud, collection+"/"+url.PathEscape(id))
	if isGone(err) {
		return item, false, nil
	}
	return item, err == nil && item.identity() == id, err
}
