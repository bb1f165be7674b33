package apiserver

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Find returns the object of type T with a name. It must not be modified.
func Find[T Object](s State, name types.NamespacedName) (object T, exists bool) {
	k := kindFor[T](s)
	object, exists = s.server.objects[k][k.key(name)].Object.(T)
	return object, exists
}

// List returns the objects of type T in a namespace, or in all, in the order of their names. They must not be modified.
func List[T Object](s State, namespace string) []T {
	var all []T
	for _, o := range s.server.list(kindFor[T](s), namespace) {
		object, _ := o.Object.(T)
		all = append(all, object)
	}
	return all
}

// Change changes the object of type T with a name, if that makes a difference. As in any API server, the UID and the
// deletion timestamp do not change, and an object that is deleted is removed when it has no finalizers any more. It
// reports whether there is such an object.
func Change[T Object](s State, name types.NamespacedName, change func(T)) bool {
	k := kindFor[T](s)
	return s.change(k, k.key(name), func(object Object) {
		typed, _ := object.(T)
		change(typed)
	})
}

// kindFor returns the kind of objects of type T.
func kindFor[T Object](s State) *Kind {
	if k, ok := s.server.kinds[reflect.TypeFor[T]()]; ok {
		return k
	}
	return &Kind{} // which has no objects
}

// Change changes the object that has the type and the name of like. Otherwise it is like the function of this name.
func (s State) Change(like Object, change func(Object)) bool {
	return s.change(s.server.kinds[reflect.TypeOf(like)], NameOf(like), change)
}

func (s State) change(k *Kind, name types.NamespacedName, change func(Object)) bool {
	live, ok := s.server.objects[k][name]
	if !ok {
		return false
	}
	object := copyOf(live.Object)
	change(object)
	object.SetUID(live.GetUID())
	object.SetDeletionTimestamp(live.GetDeletionTimestamp())
	if !live.isSame(object) {
		s.server.update(k, object)
	}
	return true
}

// Add adds a copy of an object with its status as it is, and returns it. It must not be modified. An object without a
// UID gets one. It reports whether there was none with the name.
func (s State) Add(object Object) (created Object, added bool) {
	k, ok := s.server.kinds[reflect.TypeOf(object)]
	if !ok {
		return nil, false
	}
	if _, exists := s.server.objects[k][NameOf(object)]; exists {
		return nil, false
	}
	object = copyOf(object)
	s.server.setDefaults(object)
	k.admit(object, nil)
	return s.server.create(k, object).Object, true
}

// Delete deletes the object that has the type and the name of like. Finalizers keep it, as usual. It reports whether
// there is such an object.
func (s State) Delete(like Object) bool {
	k := s.server.kinds[reflect.TypeOf(like)]
	live, ok := s.server.objects[k][NameOf(like)]
	if ok {
		s.server.delete(k, live)
	}
	return ok
}

// Remove removes the object that has the type and the name of like, in spite of finalizers, if there is one.
func (s State) Remove(like Object) {
	k := s.server.kinds[reflect.TypeOf(like)]
	if live, ok := s.server.objects[k][NameOf(like)]; ok {
		s.server.write(k, watch.Deleted, copyOf(live.Object))
	}
}

// Apply applies an object that is encoded in body, as a client that forces conflicts.
func (s State) Apply(like Object, manager string, body []byte) error {
	k := s.server.kinds[reflect.TypeOf(like)]
	c := call{kind: k, query: map[string][]string{"fieldManager": {manager}, "force": {"true"}}, manager: manager,
		body: body}
	c.Namespace, c.Name = like.GetNamespace(), like.GetName()
	_, _, err := s.server.serveApply(c)
	return err
}
