package state

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// StatusUpdating is the status of a load balancer that changes while it works.
const StatusUpdating = "updating"

// Status is in lower case, the only spelling that clients compare with.
func (lb *Loadbalancer) Status(now time.Time) string {
	if lb.Held != "" && lb.Active() {
		return lb.Held
	}
	if lb.At(now) == object.Ready && now.Before(lb.ChangingUntil) {
		return StatusUpdating
	}
	return lb.At(now).String()
}

// Creating says whether the load balancer has no address and no traffic yet.
func (lb *Loadbalancer) Creating(now time.Time) bool {
	return lb.At(now) == object.Creating || lb.Active() && lb.Held == object.Creating.String()
}

// Resource is the kind and the identity of the load balancer, as reserved IPs name them.
func (lb *Loadbalancer) Resource() (kind, identity string) { return resourceLoadbalancer, lb.Identity }

// Reach returns the addresses of the load balancer, to change them.
func (lb *Loadbalancer) Reach() *Addressing { return &lb.Addressing }

func (lb *Loadbalancer) home() *region { return lb.Subnet.VPC.Region }

// Readdressed records that the addresses of the load balancer changed.
func (lb *Loadbalancer) Readdressed(now time.Time) {
	lb.Touch(now)
	lb.Subnet.VPC.Org.TrafficChanged(lb)
}

func (lb *Loadbalancer) accepts() error {
	if lb.Internal {
		return apierror.Invalid("load balancer %q is internal and cannot have a reserved IP", lb.Identity)
	}
	return nil
}

// Traits are the values of the load balancer that filters of lists can name.
func (lb *Loadbalancer) Traits(now time.Time) object.Traits {
	return lb.Record.Traits().Reference("loadbalancer", &lb.Record).Reference("subnet", &lb.Subnet.Record).
		Reference("vpc", &lb.Subnet.VPC.Record).Reference("region", &lb.Subnet.VPC.Region.Record).
		With("status", lb.Status(now)).With("reservedIp", lb.references()...)
}

// Move puts the load balancer into another subnet; its addresses stay.
func (lb *Loadbalancer) Move(home *Subnet) {
	lb.Subnet.Users.Remove("load balancer", lb.Identity)
	home.Users.Add("load balancer", lb.Identity)
	lb.Subnet = home
}

// Release lets go of what outlives a load balancer, and deletes its listeners.
func (o *Organisation) Release(lb *Loadbalancer, now time.Time) {
	for _, l := range slices.Clone(lb.Listeners) {
		o.RemoveListener(l)
	}
	lb.SecurityGroups = Reattach("load balancer", lb.Identity, lb.SecurityGroups, nil)
	lb.leaveReserved(now)
}

// maxListeners is the documented limit per load balancer; it is a quota.
const maxListeners = 100

// Short is the listener inside its target group: without the group.
func (l *Listener) Short() wire.Listener {
	return wire.Listener{
		Meta: l.Nested(), Port: l.Port, Protocol: l.Protocol, AllowedSources: object.List(l.AllowedSources),
		MaxConnections: l.MaxConnections, ConnectionIdleTimeout: l.IdleTimeout,
	}
}

// View is the listener as the API describes it.
func (l *Listener) View() wire.Listener {
	view := l.Short()
	view.TargetGroup = l.Group.Short()
	return view
}

// AddListener adds a listener to its load balancer and its target group.
func (o *Organisation) AddListener(l *Listener) {
	l.LB.Listeners = append(l.LB.Listeners, l)
	l.Group.Listeners = append(l.Group.Listeners, l)
	o.TrafficChanged(l.LB)
}

// RemoveListener removes a listener from its load balancer and its target group.
func (o *Organisation) RemoveListener(l *Listener) {
	l.LB.Listeners = slices.DeleteFunc(l.LB.Listeners, func(other *Listener) bool { return other == l })
	l.Group.Forget(l)
	o.TrafficChanged(l.LB)
}

// Forget drops a listener from the group's references.
func (g *TargetGroup) Forget(l *Listener) {
	g.Listeners = slices.DeleteFunc(g.Listeners, func(other *Listener) bool { return other == l })
}
