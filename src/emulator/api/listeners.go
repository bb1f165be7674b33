package api

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// listener is the listener that the path names, with its load balancer, which find returns.
func (c *call) listener(find func() (*state.Loadbalancer, error)) (*state.Loadbalancer, *state.Listener, error) {
	lb, err := find()
	if err != nil {
		return nil, nil, err
	}
	ref := c.PathValue("listener")
	for _, key := range []func(*state.Listener) string{
		func(l *state.Listener) string { return l.Identity },
		func(l *state.Listener) string { return l.Slug },
	} {
		if i := slices.IndexFunc(lb.Listeners, func(l *state.Listener) bool { return key(l) == ref }); i >= 0 {
			return lb, lb.Listeners[i], nil
		}
	}
	return nil, nil, apierror.NotFound("listener", ref)
}

func (srv *Server) listListeners(c *call) (reply, error) {
	lb, err := c.loadbalancer()
	if err != nil {
		return reply{}, err
	}
	views := []wire.Listener{}
	for _, l := range lb.Listeners {
		if c.filter.Matches(l.Labels, l.Traits) {
			views = append(views, l.View())
		}
	}
	return many(views), nil
}

func (srv *Server) getListener(c *call) (reply, error) {
	_, l, err := c.listener(c.loadbalancer)
	if err != nil {
		return reply{}, err
	}
	return one(l.View()), nil
}

func (srv *Server) createListener(c *call) (reply, error) {
	lb, err := c.writableLoadbalancer()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ListenerInput](c)
	if err != nil {
		return reply{}, err
	}
	l, err := srv.newListener(c, lb, in, lb.Listeners)
	if err != nil {
		return reply{}, err
	}
	c.org.AddListener(l)
	srv.updates(lb, c.now)
	return created(l.Identity, l.View()), nil
}

// inlineListeners makes, but does not add yet, the listeners that came with a
// new load balancer.
func (srv *Server) inlineListeners(c *call, lb *state.Loadbalancer,
	inputs []wire.ListenerInput) ([]*state.Listener, error) {
	if srv.switches.InlineListeners == behaviour.IgnoreListeners || len(inputs) == 0 {
		return nil, nil
	}
	if srv.switches.InlineListeners == behaviour.RefuseListeners {
		return nil, apierror.Invalid("field \"listeners\" is not supported here; create listeners one by one")
	}
	var made []*state.Listener
	for i, in := range inputs {
		l, err := srv.newListener(c, lb, in, made)
		if err != nil {
			return nil, fmt.Errorf("field \"listeners[%d]\": %w", i, err)
		}
		made = append(made, l)
	}
	return made, nil
}

// newListener makes a listener that can live beside the others.
func (srv *Server) newListener(c *call, lb *state.Loadbalancer, in wire.ListenerInput,
	others []*state.Listener) (*state.Listener, error) {
	l := &state.Listener{LB: lb}
	described := object.Spec{
		Name:        object.Value(object.UpdateRules{}, in.Name, ""),
		Description: object.Value(object.UpdateRules{}, in.Description, ""),
		Labels:      in.Labels, Annotations: in.Annotations,
	}
	if err := object.CheckMeta(described); err != nil {
		return nil, err
	}
	if err := c.org.AdmitTo(state.QuotaListeners, len(others)); err != nil {
		return nil, err
	}
	next, err := srv.configure(c, *l, in, object.UpdateRules{}, others)
	if err != nil {
		return nil, err
	}
	slugTaken := func(slug string) bool {
		return slices.ContainsFunc(others, func(other *state.Listener) bool { return other.Slug == slug })
	}
	next.Record = object.NewRecord("lbl", described, slugTaken, c.now)
	return &next, nil
}

// configure is a listener with the settings of an input, checked.
func (srv *Server) configure(c *call, l state.Listener, in wire.ListenerInput, r object.UpdateRules,
	others []*state.Listener) (state.Listener, error) {
	l.Port = object.Value(r, in.Port, l.Port)
	l.Protocol = object.Value(r, in.Protocol, l.Protocol)
	l.MaxConnections = object.Optional(r, in.MaxConnections, l.MaxConnections)
	l.IdleTimeout = object.Optional(r, in.ConnectionIdleTimeout, l.IdleTimeout)
	if in.AllowedSources != nil || !r.Merge {
		l.AllowedSources = in.AllowedSources
	}
	if in.TargetGroup != nil || !r.Merge {
		l.Group, _ = c.org.TargetGroups.Exact(object.Value(r, in.TargetGroup, ""))
	}
	if l.Group == nil {
		return l, apierror.Invalid("field \"targetGroup\": target group %q not found",
			object.Value(r, in.TargetGroup, ""))
	}
	return l, l.Check(others)
}

func (srv *Server) updateListener(c *call) (reply, error) {
	lb, l, err := c.listener(c.writableLoadbalancer)
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.ListenerInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := srv.configure(c, *l, in, srv.rules(), lb.Listeners)
	if err != nil {
		return reply{}, err
	}
	if err := next.Describe(srv.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	before := l.Group
	*l = next
	if l.Group != before {
		before.Forget(l)
		l.Group.Listeners = append(l.Group.Listeners, l)
	}
	c.org.TrafficChanged(lb)
	srv.updates(lb, c.now)
	return changed(l.Identity, l.View()), nil
}

func (srv *Server) deleteListener(c *call) (reply, error) {
	lb, l, err := c.listener(c.writableLoadbalancer)
	if err != nil {
		return reply{}, err
	}
	c.org.RemoveListener(l)
	srv.updates(lb, c.now)
	return done(l.Identity), nil
}
