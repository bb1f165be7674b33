package inventory

import (
	"context"
	"errors"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// All writes go through the inventory, so that it contains them at once. A write that failed may still have been
// carried out, so the affected stores are then invalidated. Deleting an object that does not exist is a success.

// statusDeleted is the status after a deletion is completed.
const statusDeleted = "deleted"

// CreateLoadBalancer creates a load balancer with its listeners. The cloud sets identities, addresses and status.
func (i *Inventory) CreateLoadBalancer(ctx context.Context, create resource.NewLoadBalancer) (resource.LoadBalancer,
	error) {
	if err := i.sign("load balancer "+create.Name, create.Labels, &create.Annotations); err != nil {
		return resource.LoadBalancer{}, err
	}
	created, err := client.Post[balancerItem](ctx, i.cloud, iaas.LoadbalancerEndpoint, newBalancerBody(create))
	if err = store.RequireIdentity(err, created.ID, "load balancer "+create.Name); err != nil {
		i.expectAfter(create.Labels[i.owner], err)
		return resource.LoadBalancer{}, i.balancerWriteError(err, create.LoadBalancer)
	}
	balancer := created.object()
	if balancer.ReservedIP == "" {
		balancer.ReservedIP = create.ReservedIP // the cloud attaches it after the creation
	}
	i.moveReservedIP(balancer.ID, "", balancer.ReservedIP)
	i.balancers.PutCreated(balancer)
	return balancer, nil
}

// UpdateLoadBalancer changes a load balancer to the values of to, except its listeners. The API replaces the object as
// a whole, so to also contains the values that do not change.
func (i *Inventory) UpdateLoadBalancer(ctx context.Context, from, to resource.LoadBalancer) error {
	if err := i.sign("load balancer "+from.ID, to.Labels, &to.Annotations); err != nil {
		return err
	}
	if _, err := client.Put[client.Ignored](ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+from.ID,
		updateOf(from, to)); err != nil {
		return i.balancerWriteError(err, to)
	}
	i.balancers.Change(from.ID, to, func(latest resource.LoadBalancer) resource.LoadBalancer {
		return updated(latest, from, to)
	})
	i.moveReservedIP(to.ID, from.ReservedIP, to.ReservedIP)
	if from.ReservedIP != to.ReservedIP || from.Subnet != to.Subnet {
		i.balancers.Invalidate() // it may have other addresses now
	}
	return nil
}

// balancerWriteError returns the error of a write. The reason may be an object that the load balancer refers to, so the
// stores of these are also invalidated.
func (i *Inventory) balancerWriteError(err error, balancer resource.LoadBalancer) error {
	refers := balancer.ReservedIP != "" || len(balancer.SecurityGroups) > 0
	if refers && (store.MayHaveHappened(err) || errors.Is(err, client.ErrBadRequest)) {
		i.securityGroups.Invalidate()
		i.reservedIPs.Invalidate()
	}
	return i.writeError(err)
}

// DeleteLoadBalancer deletes a load balancer with its listeners, which takes the cloud some time.
func (i *Inventory) DeleteLoadBalancer(ctx context.Context, balancer resource.LoadBalancer) error {
	if err := i.ignoreNotFound(client.Delete(ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+balancer.ID)); err != nil {
		return err
	}
	if balancer.ReservedIP != "" {
		i.reservedIPs.Invalidate() // the cloud detaches it at some time
	}
	i.balancers.Change(balancer.ID, balancer, func(latest resource.LoadBalancer) resource.LoadBalancer {
		latest.Status = resource.StatusDeleting
		return latest
	})
	return nil
}

// listeners is the path of a load balancer's listeners.
func listeners(balancer string) string {
	return iaas.LoadbalancerEndpoint + "/" + balancer + "/listeners"
}

// CreateListener adds a listener to a load balancer.
func (i *Inventory) CreateListener(ctx context.Context, balancer string, listener resource.Listener) error {
	created, err := client.Post[listenerItem](ctx, i.cloud, listeners(balancer), newListenerBody(listener))
	if err = store.RequireIdentity(err, created.ID, "listener "+listener.Name); err != nil {
		return i.writeError(err)
	}
	made := created.object()
	made.TargetGroup = listener.TargetGroup
	i.changeListeners(balancer, func(lb resource.LoadBalancer) resource.LoadBalancer { return withListener(lb, made) })
	return nil
}

// UpdateListener replaces a listener.
func (i *Inventory) UpdateListener(ctx context.Context, balancer string, listener resource.Listener) error {
	if _, err := client.Put[client.Ignored](ctx, i.cloud, listeners(balancer)+"/"+listener.ID,
		listenerUpdateOf(listener)); err != nil {
		return i.writeError(err)
	}
	i.changeListeners(balancer, func(lb resource.LoadBalancer) resource.LoadBalancer {
		return withListener(lb, listener)
	})
	return nil
}

// DeleteListener deletes a listener of a load balancer.
func (i *Inventory) DeleteListener(ctx context.Context, balancer, id string) error {
	if err := i.ignoreNotFound(client.Delete(ctx, i.cloud, listeners(balancer)+"/"+id)); err != nil {
		return err
	}
	i.changeListeners(balancer, func(lb resource.LoadBalancer) resource.LoadBalancer { return withoutListener(lb, id) })
	return nil
}

// changeListeners changes the listeners of a stored load balancer. If it is not stored, the store is invalidated.
func (i *Inventory) changeListeners(balancer string, change func(resource.LoadBalancer) resource.LoadBalancer) {
	if !i.balancers.ChangeStored(balancer, func(latest resource.LoadBalancer) (resource.LoadBalancer, bool) {
		return change(latest), true
	}) {
		i.balancers.Invalidate()
	}
}

// CreateTargetGroup creates a target group without machines.
func (i *Inventory) CreateTargetGroup(ctx context.Context, group resource.TargetGroup) (resource.TargetGroup, error) {
	if err := i.sign("target group "+group.Name, group.Labels, &group.Annotations); err != nil {
		return resource.TargetGroup{}, err
	}
	created, err := client.Post[groupItem](ctx, i.cloud, iaas.TargetGroupEndpoint, struct {
		resource.TargetGroup
		VPC string `json:"vpc"`
	}{groupBodyOf(group), i.vpc})
	if err = store.RequireIdentity(err, created.ID, "target group "+group.Name); err != nil {
		i.expectAfter(group.Labels[i.owner], err)
		return resource.TargetGroup{}, i.writeError(err)
	}
	group = created.object()
	i.groups.PutCreated(group)
	return group, nil
}

// UpdateTargetGroup replaces a target group's own fields, except its machines. The official client's type leaves out a
// health check that is nil; here it is null.
func (i *Inventory) UpdateTargetGroup(ctx context.Context, group, update resource.TargetGroup) error {
	if err := i.sign("target group "+group.ID, update.Labels, &update.Annotations); err != nil {
		return err
	}
	if _, err := client.Put[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID, struct {
		resource.TargetGroup
		TargetSelector map[string]string     `json:"targetSelector"`
		HealthCheck    *resource.HealthCheck `json:"healthCheck"`
	}{groupBodyOf(update), update.TargetSelector, update.HealthCheck}); err != nil {
		return i.writeError(err)
	}
	if i.ofOtherCluster(update.Labels) {
		i.groups.Drop(group.ID) // target groups of other clusters are not stored
		return nil
	}
	i.groups.Change(group.ID, update, func(latest resource.TargetGroup) resource.TargetGroup {
		update.Machines, update.Listeners = latest.Machines, latest.Listeners
		return update
	})
	return nil
}

// SetMachines replaces the machines of a target group, given as sorted identities, in one write. machines must not be
// changed afterwards: all groups with this set share it.
func (i *Inventory) SetMachines(ctx context.Context, group resource.TargetGroup, machines []string) error {
	// An empty list must be sent: if the list is missing, the cloud does not change the set.
	attachments := make([]iaas.AttachTarget, 0, len(machines))
	for _, machine := range machines {
		attachments = append(attachments, iaas.AttachTarget{ServerIdentity: machine})
	}
	batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.ID, Attachments: attachments}
	if _, err := client.Post[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID+"/attachments",
		batch); err != nil {
		if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrNotFound) ||
			errors.Is(err, client.ErrConflict) {
			i.machines.Invalidate() // one of them may be gone
		}
		return i.writeError(err)
	}
	i.groups.Change(group.ID, group, func(latest resource.TargetGroup) resource.TargetGroup {
		latest.Machines = machines
		return latest
	})
	return nil
}

// DeleteTargetGroup deletes a target group that no listener uses any more.
func (i *Inventory) DeleteTargetGroup(ctx context.Context, id string) error {
	if err := i.ignoreNotFound(client.Delete(ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+id)); err != nil {
		return err
	}
	i.groups.Drop(id)
	return nil
}

// ignoreNotFound turns the deletion of an object that does not exist into a success. The stores are invalidated.
func (i *Inventory) ignoreNotFound(err error) error {
	if err = i.writeError(err); store.IsGone(err) {
		return nil
	}
	return err
}
