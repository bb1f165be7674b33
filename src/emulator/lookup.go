package emulator

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"

// described is an object with meta data.
type described interface {
	keyed
	nested() wire.Meta
}

// living is an object that takes time to come and go.
type living interface {
	described
	wanted() bool
}

// addressed finds the object that the path of a request names.
func addressed[T described](c *call, among *collection[T], kind string) (T, error) {
	object, found := among.find(c.PathValue("id"))
	if !found {
		return object, notFound(kind, c.PathValue("id"))
	}
	return object, nil
}

// writable is addressed for writes: not to an object on its way out.
func writable[T living](c *call, among *collection[T], kind string) (T, error) {
	object, err := addressed(c, among, kind)
	if err == nil && !object.wanted() {
		err = conflict("%s %q is being deleted", kind, object.nested().Identity)
	}
	return object, err
}

// referred finds the object that a field of a request names.
func referred[T living](among *collection[T], field, kind, ref string) (T, error) {
	object, found := among.find(ref)
	switch {
	case !found:
		return object, invalid("field %q: %s %q not found", field, kind, ref)
	case !object.wanted():
		return object, conflict("field %q: %s %q is being deleted", field, kind, ref)
	}
	return object, nil
}

// listed answers a list request.
func listed[T described, V any](c *call, all *collection[T], of func(T) traits, view func(T) V) (reply, error) {
	views := []V{}
	for object := range all.all() {
		if c.filter.matches(object.nested().Labels, func() traits { return of(object) }) {
			views = append(views, view(object))
		}
	}
	return many(views), nil
}

// checkNew checks the meta data of a new object.
func checkNew[T described](e *Emulator, among *collection[T], kind string, s spec) error {
	if err := checkMeta(s); err != nil {
		return err
	}
	return checkUnique(e, among, kind, s.name, "")
}

// checkUnique refuses a name that another object of the kind has, if names have
// to be unique.
func checkUnique[T described](e *Emulator, among *collection[T], kind, name, except string) error {
	if !e.switches.UniqueNames {
		return nil
	}
	for object := range among.all() {
		if other := object.nested(); other.Name == name && other.Identity != except {
			return conflict("field \"name\": %s %q is called %q already", kind, other.Identity, name)
		}
	}
	return nil
}

// revised is an object's meta data after an update; the object itself is not
// changed yet.
func revised[T described](e *Emulator, c *call, among *collection[T], kind string, object T, in wire.MetaInput) (meta, error) {
	next := meta{object.nested()}
	if err := next.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return next, err
	}
	return next, checkUnique(e, among, kind, next.Name, next.Identity)
}

// specified is the meta data of a new object.
func specified(in wire.MetaInput) spec {
	return spec{
		name: kept(in.Name, ""), description: kept(in.Description, ""),
		labels: in.Labels, annotations: in.Annotations,
	}
}
