package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
)

// Object is an object of the IronCore API.
type Object interface {
	metav1.Object
	runtime.Object
}

// maxDelay is how long a watch may be behind an answer of the API server. After that, only the watch counts.
const maxDelay = time.Minute

// Objects are all objects of one kind, by name. It is safe for concurrent use.
type Objects[T Object] struct {
	informer  cache.SharedIndexInformer
	namespace string // "" for a kind without namespaces

	mu sync.Mutex
	// written contains the answers of the API server until the watch reports them or something newer.
	written map[string]answer[T]
	// deleted contains the last versions of objects that were deleted within maxDelay.
	deleted map[string]answer[T]
	failure error // of the last list or watch; nil if it succeeded
}

// answer is an object with the time at which it became known.
type answer[T Object] struct {
	object T
	at     time.Time
}

// newObjects returns the objects that lister lists and watches. Changed is called for each change after the first list,
// with nil for an object that did not or does not exist.
func newObjects[T Object](namespace string, example T, lister cache.ListerWatcher,
	changed func(was, is T)) *Objects[T] {
	o := &Objects[T]{informer: cache.NewSharedIndexInformer(lister, example, 0, cache.Indexers{}),
		namespace: namespace, written: map[string]answer[T]{}, deleted: map[string]answer[T]{}}
	var none T
	// These fail only for an informer that has started or ended.
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
			o.forget(deleted.(T))
			changed(deleted.(T), none)
		},
	})
	_ = o.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		o.mu.Lock()
		o.failure = err
		o.mu.Unlock()
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	return o
}

// withoutManagedFields drops what is only necessary for objects that are applied: it is half of the memory.
func (o *Objects[T]) withoutManagedFields() *Objects[T] {
	_ = o.informer.SetTransform(func(object any) (any, error) { // fails only for an informer that has started
		if one, is := object.(T); is {
			one.SetManagedFields(nil)
		}
		return object, nil
	})
	return o
}

// listWatch returns what an informer needs of a typed client. A request that IronCore does not answer is sent again at
// the end of the outage: the pauses of an informer after failures grow to a minute.
func listWatch[L runtime.Object](c *client.Client, list func(context.Context, metav1.ListOptions) (L, error),
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			found, err := list(ctx, options)
			if err != nil && c.Outages().AwaitEnd(ctx) {
				found, err = list(ctx, options)
			}
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			begun, err := watcher(ctx, options)
			if err != nil && c.Outages().AwaitEnd(ctx) {
				begun, err = watcher(ctx, options)
			}
			return begun, err
		},
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
	if isWritten && time.Since(own.at) > maxDelay {
		delete(o.written, name)
		isWritten = false
	}
	one, exists := o.fromWatch(name)
	if isWritten && (!exists || older(one, own.object)) {
		return own.object, true
	}
	return one, exists
}

// fromWatch returns the object with a name as the watch has reported it, unless it was deleted since.
func (o *Objects[T]) fromWatch(name string) (object T, exists bool) {
	key := cache.ObjectName{Namespace: o.namespace, Name: name}.String()
	found, exists, _ := o.informer.GetStore().GetByKey(key) // a store in memory has no errors
	if !exists {
		return object, false
	}
	if last, was := o.deleted[name]; was && time.Since(last.at) <= maxDelay && ends(last.object, found.(T)) {
		return object, false
	}
	return found.(T), true
}

// List returns all objects, sorted by name.
func (o *Objects[T]) List() []T {
	names := map[string]bool{}
	for _, one := range typed[T](o.informer.GetStore().List()) {
		names[one.GetName()] = true
	}
	o.mu.Lock()
	for name := range o.written {
		names[name] = true
	}
	o.mu.Unlock()
	return o.newest(names)
}

// indexed returns the newest versions of the objects that an index contains, sorted by name.
func (o *Objects[T]) indexed(index, key string) []T {
	found, _ := o.informer.GetIndexer().ByIndex(index, key) // the index exists
	names := map[string]bool{}
	for _, one := range typed[T](found) {
		names[one.GetName()] = true
	}
	return o.newest(names)
}

// newest returns the newest versions of the objects with these names, sorted by name.
func (o *Objects[T]) newest(names map[string]bool) []T {
	found := make([]T, 0, len(names))
	for name := range names {
		if one, exists := o.Get(name); exists {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}

// Written stores an answer of the API server, unless the watch has reported the same or a newer version, or a later
// deletion.
func (o *Objects[T]) Written(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, was := o.deleted[object.GetName()]; was && ends(last.object, object) {
		return
	}
	if one, exists := o.fromWatch(object.GetName()); !exists || older(one, object) {
		o.written[object.GetName()] = answer[T]{object, time.Now()}
	}
}

// Deleted removes an object that was deleted, in its last known version. Until the watch reports the deletion, it may
// report any version of the object.
func (o *Objects[T]) Deleted(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if own, exists := o.written[object.GetName()]; exists && ends(object, own.object) {
		delete(o.written, object.GetName())
	}
	maps.DeleteFunc(o.deleted, func(_ string, last answer[T]) bool { return time.Since(last.at) > maxDelay })
	if last, was := o.deleted[object.GetName()]; !was || older(last.object, object) {
		o.deleted[object.GetName()] = answer[T]{object, time.Now()}
	}
}

// reported drops an answer that the watch has reported.
func (o *Objects[T]) reported(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failure = nil
	o.drop(object)
}

// drop drops an answer that is not newer than an object.
func (o *Objects[T]) drop(object T) {
	if own, exists := o.written[object.GetName()]; exists && !older(object, own.object) {
		delete(o.written, object.GetName())
	}
}

// forget drops an answer whose object was deleted later, and remembers the deletion: an answer from before may be late.
func (o *Objects[T]) forget(object T) {
	o.reported(object)
	o.Deleted(object)
}

// ends reports whether a version of an object does not exist any more after the deletion of last. After an interrupted
// watch, last is what the watch reported before: an answer to a write of the same object may be newer.
func ends(last, version metav1.Object) bool {
	return last.GetUID() != "" && last.GetUID() == version.GetUID() || !older(last, version)
}

// unsynced returns why the objects have not been listed yet; "" if they have.
func (o *Objects[T]) unsynced() string {
	if o.informer.HasSynced() {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failure != nil {
		return o.failure.Error()
	}
	return "no answer yet"
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
