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

// create stores a new object, with the metadata that clients do not choose, and returns it as the client gets it.
func (s *Server) create(k *Kind, object Object) stored {
	if object.GetUID() == "" {
		s.uids++
		object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)))
	}
	object.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	object.SetDeletionTimestamp(nil)
	object.SetGeneration(0)
	return s.write(k, watch.Added, object)
}

// update replaces an object and returns the new one as the client gets it. An object that is deleted is removed when
// it has no finalizers any more.
func (s *Server) update(k *Kind, object Object) stored {
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return s.write(k, watch.Deleted, object)
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
	object, now, grace := copyOf(live.Object), metav1.Now().Rfc3339Copy(), int64(0)
	object.SetDeletionTimestamp(&now)
	object.SetDeletionGracePeriodSeconds(&grace)
	return s.write(k, watch.Modified, object)
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

// copyOf returns a deep copy.
func copyOf[T Object](object T) T {
	c, _ := object.DeepCopyObject().(T)
	return c
}
