package apiserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// stored is an object as it is stored. Neither the object nor its encoding is changed after that.
type stored struct {
	Object
	encoded []byte
}

// create stores a new object and returns it as the client gets it.
func (s *Server) create(k *Kind, object Object) stored {
	s.complete(k, object)
	return s.write(k, watch.Added, object)
}

// complete sets the metadata of a new object that clients do not choose.
func (s *Server) complete(k *Kind, object Object) {
	if object.GetUID() == "" {
		s.uids++
		object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)))
	}
	object.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	object.SetDeletionTimestamp(nil)
	object.SetGeneration(0)
	if k.Generation || s.options.Generation {
		object.SetGeneration(1)
	}
}

// update replaces an object and returns the new one as the client gets it. An object that is deleted is removed when
// it has no finalizers any more.
func (s *Server) update(k *Kind, object, old Object) stored {
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return s.write(k, watch.Deleted, object)
	}
	if (k.Generation || s.options.Generation) && !sameSpec(k, object, old) {
		object.SetGeneration(old.GetGeneration() + 1)
	}
	return s.write(k, watch.Modified, object)
}

// delete removes an object, or marks it as deleted if it has finalizers.
func (s *Server) delete(k *Kind, live stored) stored {
	if live.GetDeletionTimestamp() != nil {
		return live
	}
	if len(live.GetFinalizers()) == 0 {
		return s.write(k, watch.Deleted, copyOf(live.Object))
	}
	return s.write(k, watch.Modified, marked(live))
}

// marked returns an object that is deleted and held.
func marked(live stored) Object {
	object, now, grace := copyOf(live.Object), metav1.Now().Rfc3339Copy(), int64(0)
	object.SetDeletionTimestamp(&now)
	object.SetDeletionGracePeriodSeconds(&grace)
	return object
}

// write is the only function that changes the stored objects. All who react to the change do so before it returns.
func (s *Server) write(k *Kind, event watch.EventType, object Object) stored {
	s.version++
	object.SetResourceVersion(strconv.FormatInt(s.version, 10))
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	now := stored{Object: object, encoded: encode(object)}
	old := s.objects[k][NameOf(object)]
	if event == watch.Deleted {
		delete(s.objects[k], NameOf(object))
		delete(s.alive, object.GetUID())
	} else {
		s.objects[k][NameOf(object)] = now
		s.alive[object.GetUID()] = true
	}
	s.events.add(change{version: s.version, kind: k, event: event, object: now, old: old})
	s.trim()
	s.news.Broadcast()
	s.collectGarbage(k, event, object)
	if s.options.React != nil {
		s.options.React(State{s}, event, now.Object, old.Object)
	}
	return now
}

// collectGarbage deletes the objects whose controller is gone.
func (s *Server) collectGarbage(k *Kind, event watch.EventType, object Object) {
	if s.options.NoGC {
		return
	}
	owner := metav1.GetControllerOfNoCopy(object)
	if o, ok := s.objects[k][NameOf(object)]; ok && event != watch.Deleted && owner != nil && !s.alive[owner.UID] {
		s.delete(k, o)
	}
	if event != watch.Deleted {
		return
	}
	for _, k := range s.options.Kinds {
		for _, name := range s.dependents(k, object.GetUID()) {
			if o, ok := s.objects[k][name]; ok {
				s.delete(k, o)
			}
		}
	}
}

// dependents returns the objects of a kind that have a controller, in the order of their names.
func (s *Server) dependents(k *Kind, controller types.UID) (names []types.NamespacedName) {
	for name, o := range s.objects[k] {
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.UID == controller {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	return names
}

// list returns the objects of a kind in a namespace, or in all, in the order of their names.
func (s *Server) list(k *Kind, namespace string) []stored {
	var all []stored
	for name, o := range s.objects[k] {
		if namespace == "" || name.Namespace == namespace {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b stored) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// encode returns the JSON of a value of which all parts can be encoded.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		return []byte(strconv.Quote("encoding: " + err.Error()))
	}
	return data
}

// isSame means that a write would change nothing: the times of managed fields alone are no change.
func (s stored) isSame(object Object) bool {
	if len(object.GetManagedFields()) == 0 || len(s.GetManagedFields()) == 0 {
		return bytes.Equal(encode(object), s.encoded)
	}
	return bytes.Equal(encode(withoutTimes(object)), encode(withoutTimes(s.Object)))
}

func withoutTimes(object Object) Object {
	object = copyOf(object)
	entries := object.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	object.SetManagedFields(entries)
	return object
}

// sameSpec means that objects differ only in their metadata and status.
func sameSpec(k *Kind, a, b Object) bool {
	return bytes.Equal(encode(onlySpec(k, a)), encode(onlySpec(k, b)))
}

func onlySpec(k *Kind, object Object) Object {
	object = copyOf(object)
	copyField(object, k.Object, "ObjectMeta")
	copyField(object, k.Object, "Status")
	return object
}

// copyOf returns a deep copy.
func copyOf[T Object](object T) T {
	c, _ := object.DeepCopyObject().(T)
	return c
}
