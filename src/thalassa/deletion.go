package thalassa

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// PlanDelete implements cloud.LoadBalancers.
func (b *balancers) PlanDelete(ctx context.Context, service *corev1.Service, written bool) (cloud.Comparison, error) {
	o, err := b.observeForDeletion(ctx, service, written)
	if err != nil {
		return cloud.Comparison{}, err
	}
	if o.Empty() {
		b.expectFromPreviousLeader(service)
	}
	if o, err = b.completed(ctx, service, o, true); err != nil {
		return cloud.Comparison{}, err
	}
	request := b.settings.Request(service, o)
	ending := balancer.Ending{Written: written}
	group, err := b.nodeGroup(ctx)
	if err != nil && !errors.Is(err, errNoNodeGroup) &&
		(request.MayHaveNodeRules() || !errors.Is(err, client.ErrUnauthorised)) {
		// if the group does not exist, or was never requested and cannot be read, it has no rules of the Service
		return cloud.Comparison{}, err
	}
	ending.NodeGroup, ending.Users = group, b.usersOf(o)
	ending.Expecting = b.inventory.Expecting(string(service.UID))
	return request.PlanDelete(ending), nil
}

// usersOf returns load balancers of others that use the objects of a Service without a load balancer, by the identities
// of these objects.
func (b *balancers) usersOf(o balancer.Observed) map[string]resource.LoadBalancer {
	if o.Balancer() != nil {
		return nil
	}
	users := map[string]resource.LoadBalancer{}
	for _, id := range o.GroupIDs() {
		if user, used := b.otherUser(id, o); used {
			users[id] = user
		}
	}
	return users
}

// observeForDeletion returns all objects of a Service that is to have none. That none is left is concluded only from
// lists that began after the last deletion, because the cloud deletes after it has accepted a deletion.
func (b *balancers) observeForDeletion(ctx context.Context, service *corev1.Service, written bool) (balancer.Observed,
	error) {
	o, err := b.observe(ctx, service, b.fresh(), true)
	if err == nil && written && o.Empty() {
		o, err = b.observe(ctx, service, inventory.Fresh, true)
	}
	made := b.settings.MayHaveSecurityGroup(service, o.Balancer())
	if err == nil && o.GroupsError != nil && (made || !errors.Is(o.GroupsError, client.ErrUnauthorised)) {
		// without permission to read security groups, this program created none
		return balancer.Observed{}, o.GroupsError
	}
	return o, err
}
