package emulator

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// maxListeners is the documented limit per load balancer; it is a quota.
const maxListeners = 100

// short is the listener inside its target group: without the group.
func (l *listener) short() wire.Listener {
	return wire.Listener{
		Meta: l.nested(), Port: l.port, Protocol: l.protocol, AllowedSources: list(l.allowedSources),
		MaxConnections: l.maxConnections, ConnectionIdleTimeout: l.idleTimeout,
	}
}

func (l *listener) view() wire.Listener {
	view := l.short()
	view.TargetGroup = l.group.short()
	return view
}

func (c *call) listener(lb *loadbalancer) (*listener, error) {
	ref := c.PathValue("listener")
	for _, key := range []func(*listener) string{
		func(l *listener) string { return l.Identity },
		func(l *listener) string { return l.Slug },
	} {
		if i := slices.IndexFunc(lb.listeners, func(l *listener) bool { return key(l) == ref }); i >= 0 {
			return lb.listeners[i], nil
		}
	}
	return nil, notFound("listener", ref)
}

func (e *Emulator) listListeners(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	views := []wire.Listener{}
	for _, l := range lb.listeners {
		if c.filter.matches(l.Labels, l.traits) {
			views = append(views, l.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getListener(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	l, err := c.listener(lb)
	if err != nil {
		return reply{}, err
	}
	return one(l.view()), nil
}

func (e *Emulator) createListener(c *call) (reply, error) {
	lb, err := c.wantedLoadbalancer()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ListenerInput](c)
	if err != nil {
		return reply{}, err
	}
	l, err := e.newListener(c, lb, in, lb.listeners)
	if err != nil {
		return reply{}, err
	}
	c.org.addListener(l)
	e.updates(lb, c.now)
	return created(l.Identity, l.view()), nil
}

// inlineListeners makes, but does not add yet, the listeners that came with a
// new load balancer.
func (e *Emulator) inlineListeners(c *call, lb *loadbalancer, inputs []wire.ListenerInput) ([]*listener, error) {
	if e.switches.InlineListeners == IgnoreListeners || len(inputs) == 0 {
		return nil, nil
	}
	if e.switches.InlineListeners == RefuseListeners {
		return nil, invalid("field \"listeners\" is not supported here; create listeners one by one")
	}
	var made []*listener
	for i, in := range inputs {
		l, err := e.newListener(c, lb, in, made)
		if err != nil {
			return nil, fmt.Errorf("field \"listeners[%d]\": %w", i, err)
		}
		made = append(made, l)
	}
	return made, nil
}

// newListener makes a listener that can live beside the others.
func (e *Emulator) newListener(c *call, lb *loadbalancer, in wire.ListenerInput, others []*listener) (*listener, error) {
	l := &listener{lb: lb}
	described := spec{
		name: value(rules{}, in.Name, ""), description: value(rules{}, in.Description, ""),
		labels: in.Labels, annotations: in.Annotations,
	}
	if err := checkMeta(described); err != nil {
		return nil, err
	}
	if err := c.org.admitTo(quotaListeners, len(others)); err != nil {
		return nil, err
	}
	next, err := e.configure(c, *l, in, rules{}, others)
	if err != nil {
		return nil, err
	}
	slugTaken := func(slug string) bool {
		return slices.ContainsFunc(others, func(other *listener) bool { return other.Slug == slug })
	}
	next.meta = newMeta("lbl", described, slugTaken, c.now)
	return &next, nil
}

// configure is a listener with the settings of an input, checked.
func (e *Emulator) configure(c *call, l listener, in wire.ListenerInput, r rules, others []*listener) (listener, error) {
	l.port = value(r, in.Port, l.port)
	l.protocol = value(r, in.Protocol, l.protocol)
	l.maxConnections = optional(r, in.MaxConnections, l.maxConnections)
	l.idleTimeout = optional(r, in.ConnectionIdleTimeout, l.idleTimeout)
	if in.AllowedSources != nil || !r.merge {
		l.allowedSources = in.AllowedSources
	}
	if in.TargetGroup != nil || !r.merge {
		l.group, _ = c.org.targetGroups.exact(value(r, in.TargetGroup, ""))
	}
	if l.group == nil {
		return l, invalid("field \"targetGroup\": target group %q not found", value(r, in.TargetGroup, ""))
	}
	if err := checkPort("port", l.port); err != nil {
		return l, err
	}
	if err := e.checkProtocol(l.protocol); err != nil {
		return l, err
	}
	if err := checkSources(l.allowedSources); err != nil {
		return l, err
	}
	return l, e.checkNeighbours(&l, others)
}

// checkNeighbours checks a listener against its target group and the other
// listeners of its load balancer.
func (e *Emulator) checkNeighbours(l *listener, others []*listener) error {
	if l.group.vpc != l.lb.subnet.vpc {
		return invalid("field \"targetGroup\": target group %q is in another VPC than the load balancer", l.group.Identity)
	}
	if l.group.protocol != l.protocol {
		return invalid("field \"targetGroup\": target group %q serves %s, the listener %s", l.group.Identity, l.group.protocol, l.protocol)
	}
	for _, other := range others {
		if other.Identity == l.Identity && l.Identity != "" || other.port != l.port {
			continue
		}
		if transport(other.protocol) == transport(l.protocol) || e.switches.OneProtocolPerPort {
			return conflict("port %d/%s is taken by listener %q", l.port, other.protocol, other.Name)
		}
	}
	users := slices.Concat(l.group.listeners, others)
	if e.switches.ExclusiveTargetGroups && slices.ContainsFunc(users, func(other *listener) bool {
		return other.group == l.group && (other.Identity != l.Identity || l.Identity == "")
	}) {
		return invalid("field \"targetGroup\": target group %q is used by another listener", l.group.Identity)
	}
	return nil
}

func (e *Emulator) updateListener(c *call) (reply, error) {
	lb, err := c.wantedLoadbalancer()
	if err != nil {
		return reply{}, err
	}
	l, err := c.listener(lb)
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ListenerInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := e.configure(c, *l, in, e.rules(), lb.listeners)
	if err != nil {
		return reply{}, err
	}
	if err := next.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	l.group.forget(l)
	*l = next
	l.group.listeners = append(l.group.listeners, l)
	c.org.trafficChanged(lb)
	e.updates(lb, c.now)
	return changed(l.Identity, l.view()), nil
}

func (e *Emulator) deleteListener(c *call) (reply, error) {
	lb, err := c.wantedLoadbalancer()
	if err != nil {
		return reply{}, err
	}
	l, err := c.listener(lb)
	if err != nil {
		return reply{}, err
	}
	c.org.removeListener(l)
	e.updates(lb, c.now)
	return done(l.Identity), nil
}

func (o *organisation) addListener(l *listener) {
	l.lb.listeners = append(l.lb.listeners, l)
	l.group.listeners = append(l.group.listeners, l)
	o.trafficChanged(l.lb)
}

func (o *organisation) removeListener(l *listener) {
	l.lb.listeners = slices.DeleteFunc(l.lb.listeners, func(other *listener) bool { return other == l })
	l.group.forget(l)
	o.trafficChanged(l.lb)
}

// forget drops a listener from the group's references.
func (g *targetGroup) forget(l *listener) {
	g.listeners = slices.DeleteFunc(g.listeners, func(other *listener) bool { return other == l })
}
