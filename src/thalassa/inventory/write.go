package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// All writes go through the inventory, so that its copies are never behind what we did ourselves.
// A write that failed may still have happened, so after one the affected copies are read again.
// Deleting what is gone already is a success.

// StatusDeleting is what an object shows from the moment its deletion is accepted; statusDeleted once it is gone and
// still shown.
const (
	StatusDeleting = "deleting"
	statusDeleted  = "deleted"
)

// CreateLoadBalancer creates a load balancer with its listeners; identities, addresses and status are the cloud's to
// give.
func (i *Inventory) CreateLoadBalancer(ctx context.Context, create NewLoadBalancer) (LoadBalancer, error) {
	created, err := client.Post[balancerItem](ctx, i.cloud, iaas.LoadbalancerEndpoint, create.body())
	if err = shown(err, created.Identity, "load balancer "+create.Name); err != nil {
		i.doubt(create.Labels[i.owner], err)
		return LoadBalancer{}, i.balancerRefused(err, create.LoadBalancer)
	}
	balancer := created.object()
	if balancer.ReservedIP == "" {
		balancer.ReservedIP = create.ReservedIP // which is attached after the creation
	}
	i.moveReservedIP(balancer.ID, "", balancer.ReservedIP)
	i.balancers.create(balancer)
	return balancer, nil
}

// UpdateLoadBalancer makes a load balancer what to says, but for its listeners. The API replaces the object as a whole,
// so to repeats what stays.
func (i *Inventory) UpdateLoadBalancer(ctx context.Context, from, to LoadBalancer) error {
	if _, err := client.Put[client.Ignored](ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+from.ID,
		updateOf(from, to)); err != nil {
		return i.balancerRefused(err, to)
	}
	i.balancers.change(from.ID, func(latest LoadBalancer, known bool) (LoadBalancer, outcome) {
		if known {
			return latest.updated(from, to), stored
		}
		return to, stored
	})
	i.moveReservedIP(to.ID, from.ReservedIP, to.ReservedIP)
	if from.ReservedIP != to.ReservedIP || from.Subnet != to.Subnet {
		i.balancers.distrust() // it may have other addresses now
	}
	return nil
}

// balancerRefused passes the error of a write on. What the load balancer refers to may be the reason, so that it is
// looked at again, too.
func (i *Inventory) balancerRefused(err error, balancer LoadBalancer) error {
	refers := balancer.ReservedIP != "" || len(balancer.SecurityGroups) > 0
	if refers && (doubtful(err) || errors.Is(err, client.ErrBadRequest)) {
		i.securityGroups.kind.distrust()
		i.reservedIPs.kind.distrust()
	}
	return i.uncertain(err)
}

// outcomeOf is what becomes of a target group in the copy that was given these labels: one of others is not part of it.
func (i *Inventory) outcomeOf(labels Labels) outcome {
	if i.ofOthers(labels) {
		return removed
	}
	return stored
}

// DeleteLoadBalancer asks the cloud to delete a load balancer, with its listeners; that takes the cloud a while.
func (i *Inventory) DeleteLoadBalancer(ctx context.Context, balancer LoadBalancer) error {
	if err := i.gone(client.Delete(ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+balancer.ID)); err != nil {
		return err
	}
	if balancer.ReservedIP != "" {
		i.reservedIPs.kind.distrust() // the cloud lets go of it sooner or later
	}
	i.balancers.change(balancer.ID, func(latest LoadBalancer, known bool) (LoadBalancer, outcome) {
		if !known {
			latest = balancer
		}
		latest.Status = StatusDeleting
		return latest, stored
	})
	return nil
}

// listeners is the path of a load balancer's listeners.
func listeners(balancer string) string {
	return iaas.LoadbalancerEndpoint + "/" + balancer + "/listeners"
}

// CreateListener adds a listener to a load balancer.
func (i *Inventory) CreateListener(ctx context.Context, balancer string, listener Listener) error {
	created, err := client.Post[listenerItem](ctx, i.cloud, listeners(balancer), newListenerBody(listener))
	if err = shown(err, created.Identity, "listener "+listener.Name); err != nil {
		return i.uncertain(err)
	}
	made := created.object()
	made.TargetGroup = listener.TargetGroup
	i.changeListeners(balancer, func(lb LoadBalancer) LoadBalancer { return lb.withListener(made) })
	return nil
}

// UpdateListener replaces a listener.
func (i *Inventory) UpdateListener(ctx context.Context, balancer string, listener Listener) error {
	if _, err := client.Put[client.Ignored](ctx, i.cloud, listeners(balancer)+"/"+listener.ID,
		listenerUpdateOf(listener)); err != nil {
		return i.uncertain(err)
	}
	i.changeListeners(balancer, func(lb LoadBalancer) LoadBalancer { return lb.withListener(listener) })
	return nil
}

// DeleteListener takes a listener off a load balancer.
func (i *Inventory) DeleteListener(ctx context.Context, balancer, id string) error {
	if err := i.gone(client.Delete(ctx, i.cloud, listeners(balancer)+"/"+id)); err != nil {
		return err
	}
	i.changeListeners(balancer, func(lb LoadBalancer) LoadBalancer { return lb.withoutListener(id) })
	return nil
}

// changeListeners changes what the copy has of a load balancer's listeners. Of one that the copy lacks the next reader
// lists.
func (i *Inventory) changeListeners(balancer string, change func(LoadBalancer) LoadBalancer) {
	lacks := false
	i.balancers.change(balancer, func(latest LoadBalancer, known bool) (LoadBalancer, outcome) {
		if lacks = !known; lacks {
			return latest, untouched
		}
		return change(latest), stored
	})
	if lacks {
		i.balancers.distrust()
	}
}

// CreateTargetGroup creates a target group without machines.
func (i *Inventory) CreateTargetGroup(ctx context.Context, group TargetGroup) (TargetGroup, error) {
	policy := iaas.LoadbalancingPolicy(group.Policy)
	created, err := client.Post[groupItem](ctx, i.cloud, iaas.TargetGroupEndpoint, iaas.CreateTargetGroup{
		Name: group.Name, Description: group.Description, Labels: group.Labels, Annotations: group.Annotations,
		Vpc:        i.vpc,
		TargetPort: group.Port, Protocol: iaas.LoadbalancerProtocol(group.Protocol),
		EnableProxyProtocol: &group.ProxyProtocol, LoadbalancingPolicy: &policy, HealthCheck: group.HealthCheck,
	})
	if err = shown(err, created.Identity, "target group "+group.Name); err != nil {
		i.doubt(group.Labels[i.owner], err)
		return TargetGroup{}, i.uncertain(err)
	}
	group = created.object()
	i.groups.create(group)
	return group, nil
}

// UpdateTargetGroup replaces a target group's own fields, not its machines.
func (i *Inventory) UpdateTargetGroup(ctx context.Context, group, update TargetGroup) error {
	_, err := client.Put[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID, targetGroupUpdate{
		Name: update.Name, Description: update.Description, Labels: present(update.Labels),
		Annotations: present(update.Annotations),
		TargetPort:  update.Port, Protocol: update.Protocol, TargetSelector: update.TargetSelector,
		EnableProxyProtocol: update.ProxyProtocol, LoadbalancingPolicy: update.Policy, HealthCheck: update.HealthCheck,
	})
	if err != nil {
		return i.uncertain(err)
	}
	i.groups.change(group.ID, func(latest TargetGroup, known bool) (TargetGroup, outcome) {
		if known {
			return latest.updated(update), i.outcomeOf(update.Labels)
		}
		return update, i.outcomeOf(update.Labels)
	})
	return nil
}

// SetMachines makes machines, sorted identities, the whole set of a target group, in one write. Nobody may change
// machines afterwards: all groups with this set share it.
func (i *Inventory) SetMachines(ctx context.Context, group TargetGroup, machines []string) error {
	// An empty list must be sent as such: without it the cloud would leave the set alone.
	attachments := make([]iaas.AttachTarget, 0, len(machines))
	for _, machine := range machines {
		attachments = append(attachments, iaas.AttachTarget{ServerIdentity: machine})
	}
	batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.ID, Attachments: attachments}
	if _, err := client.Post[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID+"/attachments",
		batch); err != nil {
		if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrNotFound) ||
			errors.Is(err, client.ErrConflict) {
			i.machines.distrust() // one of them may be gone
		}
		return i.uncertain(err)
	}
	i.groups.change(group.ID, func(latest TargetGroup, known bool) (TargetGroup, outcome) {
		if !known {
			latest = group
		}
		latest.Machines = machines
		return latest, stored
	})
	return nil
}

// DeleteTargetGroup deletes a target group that no listener uses any more.
func (i *Inventory) DeleteTargetGroup(ctx context.Context, id string) error {
	if err := i.gone(client.Delete(ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+id)); err != nil {
		return err
	}
	i.groups.drop(id)
	return nil
}

// gone makes a success of deleting what is not there, which the next reader sees confirmed by a list.
func (i *Inventory) gone(err error) error {
	if err == nil {
		return nil
	}
	err = i.uncertain(err)
	if isGone(err) {
		return nil
	}
	return err
}

func isGone(err error) bool { return errors.Is(err, client.ErrNotFound) }

// shown makes an error of a success that does not show the object it is about.
func shown(err error, identity, object string) error {
	if err == nil && identity == "" {
		return fmt.Errorf("creating %s: %w: the answer contains no object; the controller checks automatically "+
			"whether it was created; if the problem persists, ask the cloud's support", object, client.ErrMalformed)
	}
	return err
}
