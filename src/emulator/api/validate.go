package api

import (
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// checkProtocol checks the protocol of a listener or target group.
func (srv *Server) checkProtocol(protocol string) error {
	known := []string{string(traffic.TCP), string(traffic.UDP)}
	if srv.switches.ApplicationProtocols {
		known = append(known, "http", "https", "grpc", state.ProtocolQUIC)
	}
	if !slices.Contains(known, protocol) {
		return apierror.Invalid("field \"protocol\" must be one of %v, not %q", known, protocol)
	}
	return nil
}

// checkServable refuses ranges of a VPC that the data plane cannot serve. Its
// network is one, so VPCs do not have address spaces of their own.
func (srv *Server) checkServable(field string, v *state.VPC, cidrs []netip.Prefix) error {
	if !srv.network.IsValid() {
		return nil
	}
	for _, cidr := range cidrs {
		if !state.Within(cidr, []netip.Prefix{srv.network}) {
			return apierror.Invalid("field %q: %s is outside the data plane's network %s", field, cidr, srv.network)
		}
		for org := range srv.Store.Spaces() {
			for other := range object.Present(&org.VPCs, srv.Store.Now) {
				if other != v && slices.ContainsFunc(other.CIDRs, cidr.Overlaps) {
					return apierror.Conflict("field %q: %s overlaps VPC %q, which shares the data plane's network",
						field, cidr, other.Identity)
				}
			}
		}
	}
	return nil
}

// checkPublic refuses ranges of a subnet that contain public addresses of the
// data plane's network.
func (srv *Server) checkPublic(field string, cidrs []netip.Prefix) error {
	if !srv.network.IsValid() {
		return nil
	}
	for r := range srv.Store.Regions.All() {
		for _, pool := range r.Public {
			if slices.ContainsFunc(cidrs, pool.Prefix().Overlaps) {
				return apierror.Conflict("field %q: %s are public addresses of region %s", field, pool.Prefix(), r.Slug)
			}
		}
	}
	return nil
}

func (srv *Server) rules() object.UpdateRules {
	return object.UpdateRules{Merge: srv.switches.Updates == behaviour.Merge,
		ReplaceAll: srv.switches.Updates == behaviour.ReplaceAll, NullRemoves: srv.switches.NullRemovesHealthCheck}
}

// addressed finds the object that the path of a request names.
func addressed[T object.Described](c *call, among *object.Collection[T], kind string) (T, error) {
	item, found := among.Find(c.PathValue("id"))
	if !found {
		return item, apierror.NotFound(kind, c.PathValue("id"))
	}
	return item, nil
}

// writable is addressed for writes: not to an object on its way out.
func writable[T object.Living](c *call, among *object.Collection[T], kind string) (T, error) {
	item, err := addressed(c, among, kind)
	if err == nil && !item.Active() {
		err = apierror.Conflict("%s %q is being deleted", kind, item.Nested().Identity)
	}
	return item, err
}

// listed answers a list request.
func listed[T object.Described, V any](c *call, all *object.Collection[T], of func(T) object.Traits,
	view func(T) V) (reply, error) {
	views := []V{}
	for item := range all.All() {
		if c.filter.Matches(item.Nested().Labels, func() object.Traits { return of(item) }) {
			views = append(views, view(item))
		}
	}
	return many(views), nil
}

// checkNew checks the meta data of a new object.
func checkNew[T object.Described](srv *Server, among *object.Collection[T], kind string, s object.Spec) error {
	if err := object.CheckMeta(s); err != nil {
		return err
	}
	return checkUnique(srv, among, kind, s.Name, "")
}

// checkUnique refuses a name that another object of the kind has, if names have
// to be unique.
func checkUnique[T object.Described](srv *Server, among *object.Collection[T], kind, name, except string) error {
	if !srv.switches.UniqueNames {
		return nil
	}
	return object.CheckFree(among, kind, name, except, srv.Store.Now)
}

// revised is an object's meta data after an update; the object itself is not
// changed yet.
func revised[T object.Described](srv *Server, c *call, among *object.Collection[T], kind string, item T,
	in wire.MetaInput) (object.Record, error) {
	next := object.Record{Meta: item.Nested()}
	if err := next.Describe(srv.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return next, err
	}
	return next, checkUnique(srv, among, kind, next.Name, next.Identity)
}

// specified is the meta data of a new object.
func specified(in wire.MetaInput) object.Spec {
	return object.Spec{
		Name: object.Kept(in.Name, ""), Description: object.Kept(in.Description, ""),
		Labels: in.Labels, Annotations: in.Annotations,
	}
}
