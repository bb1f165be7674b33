package thalassa

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// PlanDelete implements cloud.LoadBalancers.
func (b *balancers) PlanDelete(ctx context.Context, service *corev1.Service, written bool) (cloud.Comparison, error) {
	o, early, err := b.observeForDeletion(ctx, service)
	switch {
	case err != nil:
		return cloud.Comparison{}, err
	case early:
		return cloud.Comparison{Exists: true, Balancer: cloud.Actual{State: "deleting"},
			Wait: &cloud.Wait{Name: "the deletion", Status: "deleting", Deleting: true, Within: deletionWindow,
				Message: "the last object was deleted, and new lists of the cloud must show that none is left"}}, nil
	}
	if o, err = b.completed(ctx, service, o, true); err != nil {
		return cloud.Comparison{}, err
	}
	request := b.settings.Request(service, o)
	ending := balancer.Ending{Written: written, Users: b.usersOf(o),
		Expecting: b.memoryOf(service, o).Expecting}
	return b.timed(request.PlanDelete(ending)), nil
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

// deletionWindow is how long after its last write the program lists what is left of a Service, so that Services that
// are deleted at the same time share these lists.
const deletionWindow = time.Second

// groupAge is how old the lists of target groups and security groups may be when their deletion is planned. Whether
// load balancers of others use them is in the list of load balancers.
const groupAge = 10 * time.Second

// sinceWrite returns how long ago the last write of the Service was, or more, and how long to wait after it.
func (b *balancers) sinceWrite(service *corev1.Service) (since, window time.Duration) {
	last, known := b.executor.memory.writes.Get(string(service.UID))
	if known && last.lags {
		return time.Since(last.at), 0
	}
	return time.Since(last.at), deletionWindow
}

// observeForDeletion returns all objects of a Service that is to have none, and whether it is too early to conclude
// that there are none: that is concluded only from lists that began after the last write, because the cloud deletes
// after it has accepted a deletion.
func (b *balancers) observeForDeletion(ctx context.Context, service *corev1.Service) (o balancer.Observed, early bool,
	err error) {
	fresh := b.fresh()
	o, err = b.observe(ctx, service, ages{fresh, max(fresh, groupAge)}, true)
	if since, window := b.sinceWrite(service); err == nil && o.Empty() {
		if since < window {
			return o, true, nil
		}
		// A list that began at the very time of the write may be older.
		maxAge := min(fresh, b.config.LoadBalancer.PollInterval()/2, since-time.Nanosecond)
		o, err = b.observe(ctx, service, ages{maxAge, maxAge}, true)
	}
	made := b.settings.MayHaveSecurityGroup(service, o.Balancer())
	if err == nil && o.GroupsError != nil && (made || !errors.Is(o.GroupsError, client.ErrUnauthorised)) {
		// without permission to read security groups, this program created none
		return balancer.Observed{}, false, o.GroupsError
	}
	return o, false, err
}
