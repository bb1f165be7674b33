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

// StatusDeleting is what a load balancer shows from the moment its deletion is accepted.
const StatusDeleting = "deleting"

// CreateLoadBalancer creates a load balancer.
func (i *Inventory) CreateLoadBalancer(ctx context.Context, create iaas.CreateLoadbalancer) (LoadBalancer, error) {
	created, err := client.Post[balancerItem](ctx, i.cloud, iaas.LoadbalancerEndpoint, create)
	if err = shown(err, created.Identity, "load balancer "+create.Name); err != nil {
		i.doubt(create.Labels[i.owner], err)
		return LoadBalancer{}, i.uncertain(err)
	}
	balancer := created.object()
	i.balancers.create(balancer)
	return balancer, nil
}

// UpdateLoadBalancer gives a load balancer other labels. The API replaces the object, so everything else is repeated.
func (i *Inventory) UpdateLoadBalancer(ctx context.Context, balancer LoadBalancer, labels Labels) error {
	_, err := client.Put[client.Ignored](ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+balancer.ID, iaas.UpdateLoadbalancer{
		Name: balancer.Name, Description: balancer.Description, Labels: labels, Annotations: balancer.Annotations,
		DeleteProtection: balancer.DeleteProtection, SecurityGroupAttachments: balancer.SecurityGroups,
	})
	if err != nil {
		return i.uncertain(err)
	}
	balancer.Labels = labels
	i.balancers.put(balancer)
	return nil
}

// DeleteLoadBalancer asks the cloud to delete a load balancer, with its listeners; that takes the cloud a while.
func (i *Inventory) DeleteLoadBalancer(ctx context.Context, balancer LoadBalancer) error {
	if err := i.gone(client.Delete(ctx, i.cloud, iaas.LoadbalancerEndpoint+"/"+balancer.ID)); err != nil {
		return err
	}
	balancer.Status = StatusDeleting
	i.balancers.drop(balancer.ID)
	i.balancers.put(balancer)
	return nil
}

// listeners is the path of a load balancer's listeners.
func listeners(balancer string) string {
	return iaas.LoadbalancerEndpoint + "/" + balancer + "/listeners"
}

// CreateListener adds a listener to a load balancer.
func (i *Inventory) CreateListener(ctx context.Context, balancer string, create iaas.CreateListener) error {
	created, err := client.Post[listenerItem](ctx, i.cloud, listeners(balancer), create)
	if err = shown(err, created.Identity, "listener "+create.Name); err != nil {
		return i.uncertain(err)
	}
	listener := created.object()
	listener.TargetGroup = create.TargetGroup
	i.changeListeners(balancer, func(lb LoadBalancer) LoadBalancer { return lb.withListener(listener) })
	return nil
}

// UpdateListener replaces a listener.
func (i *Inventory) UpdateListener(ctx context.Context, balancer string, listener Listener) error {
	_, err := client.Put[client.Ignored](ctx, i.cloud, listeners(balancer)+"/"+listener.ID, iaas.UpdateListener{
		Name: listener.Name, Description: listener.Description, Labels: listener.Labels, Annotations: listener.Annotations,
		Port: listener.Port, Protocol: iaas.LoadbalancerProtocol(listener.Protocol), TargetGroup: listener.TargetGroup,
		MaxConnections: optional(listener.MaxConnections), ConnectionIdleTimeout: optional(listener.IdleTimeout), AllowedSources: listener.AllowedSources,
	})
	if err != nil {
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

func (i *Inventory) changeListeners(balancer string, change func(LoadBalancer) LoadBalancer) {
	if lb, known := i.balancers.get(balancer); known {
		i.balancers.put(change(lb))
	}
}

// CreateTargetGroup creates a target group without machines.
func (i *Inventory) CreateTargetGroup(ctx context.Context, group TargetGroup) (TargetGroup, error) {
	policy := iaas.LoadbalancingPolicy(group.Policy)
	created, err := client.Post[groupItem](ctx, i.cloud, iaas.TargetGroupEndpoint, iaas.CreateTargetGroup{
		Name: group.Name, Description: group.Description, Labels: group.Labels, Vpc: i.vpc,
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

// targetGroupUpdate is the body of a target group's PUT. The official client's type leaves out a health check that is nil,
// which a cloud that merges would take for "as it is"; this one says null.
type targetGroupUpdate struct {
	Name                string                   `json:"name"`
	Description         string                   `json:"description"`
	Labels              Labels                   `json:"labels"`
	Annotations         Labels                   `json:"annotations"`
	TargetPort          int                      `json:"targetPort"`
	Protocol            string                   `json:"protocol"`
	TargetSelector      map[string]string        `json:"targetSelector"`
	EnableProxyProtocol bool                     `json:"enableProxyProtocol"`
	LoadbalancingPolicy string                   `json:"loadbalancingPolicy,omitempty"`
	HealthCheck         *iaas.BackendHealthCheck `json:"healthCheck"`
}

// UpdateTargetGroup replaces a target group's own fields, not its machines.
func (i *Inventory) UpdateTargetGroup(ctx context.Context, group, update TargetGroup) error {
	_, err := client.Put[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID, targetGroupUpdate{
		Name: update.Name, Description: update.Description, Labels: update.Labels, Annotations: update.Annotations,
		TargetPort: update.Port, Protocol: update.Protocol, TargetSelector: update.TargetSelector,
		EnableProxyProtocol: update.ProxyProtocol, LoadbalancingPolicy: update.Policy, HealthCheck: update.HealthCheck,
	})
	if err != nil {
		return i.uncertain(err)
	}
	if latest, known := i.groups.get(group.ID); known {
		update.Machines = latest.Machines
	}
	i.groups.put(update)
	return nil
}

// SetMachines makes machines, sorted identities, the whole set of a target group, in one write. Nobody may change machines afterwards:
// all groups with this set share it.
func (i *Inventory) SetMachines(ctx context.Context, group TargetGroup, machines []string) error {
	// An empty list must be sent as such: without it the cloud would leave the set alone.
	attachments := make([]iaas.AttachTarget, 0, len(machines))
	for _, machine := range machines {
		attachments = append(attachments, iaas.AttachTarget{ServerIdentity: machine})
	}
	batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.ID, Attachments: attachments}
	if _, err := client.Post[client.Ignored](ctx, i.cloud, iaas.TargetGroupEndpoint+"/"+group.ID+"/attachments", batch); err != nil {
		if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrConflict) {
			i.machines.distrust() // one of them may be gone
		}
		return i.uncertain(err)
	}
	if latest, known := i.groups.get(group.ID); known {
		group = latest
	}
	group.Machines = machines
	i.groups.put(group)
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

// optional is nil for 0, which stands for the cloud's default.
func optional(number uint32) *uint32 {
	if number == 0 {
		return nil
	}
	return &number
}

// shown makes an error of a success that does not show the object it is about.
func shown(err error, identity, object string) error {
	if err == nil && identity == "" {
		return fmt.Errorf("creating %s: %w: the answer shows no object; whether it was made is looked for by itself; if this lasts, ask the cloud's support", object, client.ErrMalformed)
	}
	return err
}
