package store

import (
	"cmp"
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Object is an object of the IronCore API.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects are all objects of one kind, by name. It is safe for concurrent use.
type Objects[T Object] struct {
	informer  cache.SharedIndexInformer
	namespace string // "" for a kind without namespaces

	mu sync.Mutex
	// written contains the answers of writes until the watch reports them or something newer.
	written map[string]T
}

// newObjects returns the objects that lister lists and watches. Changed is called for each change after the first list,
// with nil for an object that did not or does not exist.
func newObjects[T Object](namespace string, example T, lister cache.ListerWatcher,
	changed func(was, is T)) *Objects[T] {
	o := &Objects[T]{informer: cache.NewSharedIndexInformer(lister, example, 0, cache.Indexers{}),
		namespace: namespace, written: map[string]T{}}
	var none T
	// AddEventHandler fails only for an informer that has ended.
	_, _ = o.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			o.reported(added.(T))
			if !initial {
				changed(none, added.(T))
			}
		},
		UpdateFunc: func(was, is any) {
			o.reported(is.(T))
			changed(was.(T), is.(T))
		},
		DeleteFunc: func(deleted any) {
			if last, unknown := deleted.(cache.DeletedFinalStateUnknown); unknown {
				deleted = last.Obj
			}
			o.deleted(deleted.(T).GetName())
			changed(deleted.(T), none)
		},
	})
	return o
}

// listWatch returns what an informer needs of a typed client.
func listWatch[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error),
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, options)
		},
		WatchFuncWithContext: watcher,
	}
}

// index adds an index. It is called before the first list.
func (o *Objects[T]) index(name string, keys func(T) []string) {
	// AddIndexers fails only for an informer that has started, or a name that is taken.
	_ = o.informer.AddIndexers(cache.Indexers{name: func(object any) ([]string, error) {
		return keys(object.(T)), nil
	}})
}

// Get returns the object with a name.
func (o *Objects[T]) Get(name string) (T, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own, isWritten := o.written[name]
	one, exists := o.fromWatch(name)
	if !exists || isWritten && older(one, own) {
		return own, isWritten
	}
	return one, true
}

// fromWatch returns the object with a name as the watch has reported it.
func (o *Objects[T]) fromWatch(name string) (object T, exists bool) {
	key := cache.ObjectName{Namespace: o.namespace, Name: name}.String()
	found, exists, _ := o.informer.GetStore().GetByKey(key) // a store in memory has no errors
	if exists {
		object = found.(T)
	}
	return object, exists
}

// List returns all objects, sorted by name.
func (o *Objects[T]) List() []T {
	all := map[string]T{}
	for _, one := range typed[T](o.informer.GetStore().List()) {
		all[one.GetName()] = one
	}
	o.mu.Lock()
	for name, own := range o.written {
		if one, exists := all[name]; !exists || older(one, own) {
			all[name] = own
		}
	}
	o.mu.Unlock()
	return sorted(all)
}

// indexed returns the newest versions of the objects that an index contains, sorted by name.
func (o *Objects[T]) indexed(index, key string) []T {
	found, _ := o.informer.GetIndexer().ByIndex(index, key) // the index exists
	all := map[string]T{}
	for _, one := range typed[T](found) {
		if newest, exists := o.Get(one.GetName()); exists {
			all[newest.GetName()] = newest
		}
	}
	return sorted(all)
}

// Written stores the answer of a write.
func (o *Objects[T]) Written(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one, exists := o.fromWatch(object.GetName()); !exists || older(one, object) {
		o.written[object.GetName()] = object
	}
}

// reported forgets a write that the watch has reported.
func (o *Objects[T]) reported(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own, exists := o.written[object.GetName()]; exists && !older(object, own) {
		delete(o.written, object.GetName())
	}
}

func (o *Objects[T]) deleted(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.written, name)
}

// older reports whether a has an older version than b. Versions that cannot be compared count as older, so that what
// the watch reports next replaces them.
func older(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err != nil || order < 0
}

func typed[T Object](objects []any) []T {
	found := make([]T, len(objects))
	for i, one := range objects {
		found[i] = one.(T)
	}
	return found
}

func sorted[T Object](all map[string]T) []T {
	found := make([]T, 0, len(all))
	for _, one := range all {
		found = append(found, one)
	}
	slices.SortFunc(found, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}
