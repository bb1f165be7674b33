package simulator

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

type key struct{ namespace, name string }

func keyOf(object metav1.Object) key { return key{object.GetNamespace(), object.GetName()} }

// stored is an object as it is stored. Neither the object nor its encoding is changed after that.
type stored struct {
	Object
	encoded []byte
}

// create stores a new object and returns it as the client gets it.
func (s *Simulator) create(k *kind, object Object) stored {
	s.complete(k, object)
	return s.write(k, watch.Added, object)
}

// complete sets the metadata of a new object that clients do not choose.
func (s *Simulator) complete(k *kind, object Object) {
	s.uids++
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)))
	object.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	object.SetDeletionTimestamp(nil)
	object.SetGeneration(0)
	if k.generation || s.options.Generation {
		object.SetGeneration(1)
	}
}

// update replaces an object and returns the new one as the client gets it. An object that is deleted is removed when
// it has no finalizers any more.
func (s *Simulator) update(k *kind, object, old Object) stored {
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return s.write(k, watch.Deleted, object)
	}
	if (k.generation || s.options.Generation) && !sameSpec(k, object, old) {
		object.SetGeneration(old.GetGeneration() + 1)
	}
	return s.write(k, watch.Modified, object)
}

// write is the only function that changes the stored objects. All who react to the change do so before it returns.
func (s *Simulator) write(k *kind, event watch.EventType, object Object) stored {
	s.version++
	object.SetResourceVersion(strconv.FormatInt(s.version, 10))
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	now := stored{Object: object, encoded: encode(object)}
	old := s.objects[k][keyOf(object)]
	if event == watch.Deleted {
		delete(s.objects[k], keyOf(object))
		delete(s.alive, object.GetUID())
	} else {
		s.objects[k][keyOf(object)] = now
		s.alive[object.GetUID()] = true
	}
	s.events.add(change{version: s.version, kind: k, event: event, object: now, old: old})
	s.trim()
	s.news.Broadcast()
	s.react(event, now.Object, old.Object)
	return now
}

// list returns the objects of a kind in a namespace, or in all, in the order of their names.
func (s *Simulator) list(k *kind, namespace string) []stored {
	var all []stored
	for key, o := range s.objects[k] {
		if namespace == "" || key.namespace == namespace {
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

// same means that a write would change nothing: the times of managed fields alone are no change.
func same(a, b Object) bool {
	return bytes.Equal(encode(withoutTimes(a)), encode(withoutTimes(b)))
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
func sameSpec(k *kind, a, b Object) bool {
	return bytes.Equal(encode(onlySpec(k, a)), encode(onlySpec(k, b)))
}

func onlySpec(k *kind, object Object) Object {
	object = copyOf(object)
	copyField(object, k.empty(), "ObjectMeta")
	copyField(object, k.empty(), "Status")
	return object
}

// copyOf returns a deep copy.
func copyOf[T Object](object T) T {
	c, _ := object.DeepCopyObject().(T)
	return c
}
