package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

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
	return object.CheckNew(object.Checks{UniqueNames: srv.switches.UniqueNames, Now: srv.Store.Now}, among, kind, s)
}

// checkUnique refuses a name that another object of the kind has, if names have
// to be unique.
func checkUnique[T object.Described](srv *Server, among *object.Collection[T], kind, name, except string) error {
	if !srv.switches.UniqueNames {
		return nil
	}
	return object.CheckFree(among, object.Lengths{}, kind, name, except, srv.Store.Now)
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
