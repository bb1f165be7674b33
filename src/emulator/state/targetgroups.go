package state

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Short is the target group inside a listener: without listeners and targets.
func (g *TargetGroup) Short() *wire.TargetGroup {
	return &wire.TargetGroup{
		Meta: g.Nested(), VPC: g.VPC.Short(), TargetPort: g.Port, Protocol: g.Protocol,
		TargetSelector: g.Selector, EnableProxyProtocol: g.ProxyProtocol, LoadbalancingPolicy: g.Policy,
		HealthCheck: g.Health, LoadbalancerListeners: []wire.Listener{}, Attachments: []wire.Attachment{},
	}
}

// Traits are the values of the target group that filters of lists can name.
func (g *TargetGroup) Traits() object.Traits {
	var users []string
	for _, l := range g.Listeners {
		users = append(users, l.LB.Identity, l.LB.Slug)
	}
	return g.Record.Traits().Reference("vpc", &g.VPC.Record).Reference("region", &g.VPC.Region.Record).
		With("loadbalancer", users...)
}

// GroupChanged records that the traffic through a target group changed.
func (o *Organisation) GroupChanged(g *TargetGroup) {
	for _, l := range g.Listeners {
		o.TrafficChanged(l.LB)
	}
}

// Fill keeps the attachments of a group with a selector in step with the
// machines of its VPC.
func (o *Organisation) Fill(g *TargetGroup, now time.Time) {
	if len(g.Selector) == 0 && !o.Selective[g] {
		return
	}
	if len(g.Selector) == 0 {
		delete(o.Selective, g)
	} else {
		o.Selective[g] = true
	}
	for m := range o.Machines.All() {
		g.selectMachine(m, now)
	}
}

// Reselect keeps all groups with a selector in step with one machine.
func (o *Organisation) Reselect(m *Machine, now time.Time) {
	for g := range o.Selective {
		if g.selectMachine(m, now) {
			o.GroupChanged(g)
		}
	}
}

// AttachMachine attaches a machine, unless it is attached already.
func (g *TargetGroup) AttachMachine(m *Machine, now time.Time) *Attachment {
	if a, found := g.Attachments.Find(m.Identity); found {
		return a
	}
	a := &Attachment{Identity: object.NewIdentity("tga"), CreatedAt: now, Machine: m}
	g.Attachments.Add(a)
	m.Groups[g] = true
	return a
}

// AttachExactly attaches these machines, in this order, and no others. Attachments that stay keep their identity.
func (g *TargetGroup) AttachExactly(machines []*Machine, now time.Time) {
	var next object.Collection[*Attachment]
	for _, m := range machines {
		a := g.AttachMachine(m, now)
		if a.Selected = false; !next.HasSlug(m.Identity) {
			next.Add(a)
		}
	}
	for a := range g.Attachments.All() {
		if !next.HasSlug(a.Machine.Identity) {
			g.Detach(a)
		}
	}
	g.Attachments = next
}

// Detach removes an attachment.
func (g *TargetGroup) Detach(a *Attachment) {
	g.Attachments.Remove(a)
	delete(a.Machine.Groups, g)
}

// selectMachine attaches or detaches a machine according to the group's
// selector, and reports whether that changed anything.
func (g *TargetGroup) selectMachine(m *Machine, now time.Time) bool {
	a, attached := g.Attachments.Find(m.Identity)
	wanted := m.Active() && m.Subnet.VPC == g.VPC && object.Subset(g.Selector, m.Labels)
	switch {
	case wanted && !attached:
		g.AttachMachine(m, now).Selected = true
	case !wanted && attached && a.Selected:
		g.Detach(a)
	default:
		return false
	}
	return true
}

func (g *TargetGroup) describe() seed.TargetGroup {
	out := seed.TargetGroup{Object: seed.Described(g.Meta), VPC: g.VPC.Identity, Port: g.Port, Protocol: g.Protocol,
		Policy: g.Policy, ProxyProtocol: g.ProxyProtocol, Selector: g.Selector,
		HealthCheck: seed.JSON[*wire.HealthCheck]{Value: g.Health}, Listeners: identities(g.Listeners)}
	for a := range g.Attachments.All() {
		if g.VPC.Org.keeps(a.Machine) {
			out.Attachments = append(out.Attachments, seed.Attachment{Identity: a.Identity, CreatedAt: a.CreatedAt,
				Machine: a.Machine.Identity, Selected: a.Selected})
		}
	}
	return out
}

func (o *Organisation) seedTargetGroup(in *seed.TargetGroup, now time.Time) error {
	if err := checkNew(o.Store, &o.TargetGroups, checked{kind: "target group", object: in.Object,
		now: now}); err != nil {
		return err
	}
	home, err := required(&o.VPCs, "vpc", "VPC", in.VPC)
	if err != nil {
		return err
	}
	g := &TargetGroup{VPC: home, Port: in.Port, Protocol: in.Protocol, Selector: object.Copied(in.Selector),
		ProxyProtocol: in.ProxyProtocol, Policy: in.Policy, Health: in.HealthCheck.Value,
		Record: recorded("tg", in.Object, o.TargetGroups.HasSlug, now)}
	if err := g.Check(); err != nil {
		return err
	}
	if err := object.Insert(&o.TargetGroups, g); err != nil {
		return err
	}
	home.Users.Add("target group", g.Identity)
	if err := seed.Each("attachments", "attachment", in.Attachments,
		func(a *seed.Attachment) (string, error) { return "", o.seedTarget(g, a, now) }); err != nil {
		return err
	}
	g.Attachments = object.Collected(g.Attachments.Order)
	o.Fill(g, now)
	return nil
}

// seedTarget attaches a machine to a target group.
func (o *Organisation) seedTarget(g *TargetGroup, in *seed.Attachment, now time.Time) error {
	m, err := required(&o.Machines, "machine", "machine", in.Machine)
	if err != nil {
		return err
	}
	if m.Subnet.VPC != g.VPC && !o.Store.restoring {
		return fmt.Errorf("field \"machine\": machine %q is in another VPC", in.Machine)
	}
	if _, found := g.Attachments.Find(m.Identity); found {
		return fmt.Errorf("field \"machine\": machine %q is in the target group twice", in.Machine)
	}
	made := g.AttachMachine(m, now)
	made.Identity, made.Selected = cmp.Or(in.Identity, made.Identity), in.Selected
	if !in.CreatedAt.IsZero() {
		made.CreatedAt = in.CreatedAt
	}
	if in.Selected {
		o.Selective[g] = true
	}
	return nil
}

// orderListeners puts listeners in the order of a seed, after they were added with their load balancers.
func (o *Organisation) orderListeners(groups []seed.TargetGroup) {
	for _, in := range groups {
		if g, found := o.TargetGroups.Exact(in.Identity); found {
			inOrder(g.Listeners, in.Listeners)
		}
	}
}

// CheckProtocol checks the protocol of a listener or target group. A state that an emulator wrote can have those of
// Switches.ApplicationProtocols without that.
func (s *Store) CheckProtocol(protocol string) error {
	known := []string{string(traffic.TCP), string(traffic.UDP)}
	if s.Switches.ApplicationProtocols || s.restoring {
		known = append(known, "http", "https", "grpc", ProtocolQUIC)
	}
	if !slices.Contains(known, protocol) {
		return apierror.Invalid("field \"protocol\" must be one of %v, not %q", known, protocol)
	}
	return nil
}

// Check checks the settings of a target group.
func (g *TargetGroup) Check() error {
	if err := cmp.Or(object.CheckPort("targetPort", g.Port), g.VPC.Org.Store.CheckProtocol(g.Protocol)); err != nil {
		return err
	}
	for _, l := range g.Listeners {
		if l.Protocol != g.Protocol {
			return apierror.Invalid("field \"protocol\": listener %q uses this target group for %s", l.Identity,
				l.Protocol)
		}
	}
	return g.checkBalancing()
}

// checkBalancing checks the policy and the health check of a target group.
func (g *TargetGroup) checkBalancing() error {
	known := []traffic.Policy{traffic.RoundRobin, traffic.Random, traffic.Maglev}
	if g.Policy != "" && !slices.Contains(known, traffic.Policy(g.Policy)) {
		return apierror.Invalid("field \"loadbalancingPolicy\" must be one of %v, not %q", known, g.Policy)
	}
	if g.Health == nil {
		return nil
	}
	return checkHealth(g.Health)
}

func checkHealth(h *wire.HealthCheck) error {
	protocols := []string{"tcp", "udp", "http", "https"}
	if !slices.Contains(protocols, h.Protocol) {
		return apierror.Invalid("field \"healthCheck.protocol\" must be one of %v, not %q", protocols, h.Protocol)
	}
	if _, err := url.Parse(h.Path); err != nil {
		return apierror.Invalid("field \"healthCheck.path\": %v", err)
	}
	for _, limit := range []struct {
		field           string
		value, min, max int
	}{
		{"port", int(h.Port), 1, object.MaxPort},
		{"periodSeconds", h.PeriodSeconds, 5, 300},
		{"timeoutSeconds", h.TimeoutSeconds, 1, 300},
		{"unhealthyThreshold", int(h.UnhealthyThreshold), 1, 10},
		{"healthyThreshold", int(h.HealthyThreshold), 1, 10},
	} {
		if limit.value < limit.min || limit.value > limit.max {
			return apierror.Invalid("field \"healthCheck.%s\" must be %d to %d, not %d", limit.field, limit.min,
				limit.max, limit.value)
		}
	}
	return nil
}
