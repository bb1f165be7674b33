package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// MaxDelay is how long a watch may be behind an answer of the API server. After that, only the watch counts.
const MaxDelay = time.Minute

// Objects are all objects of one kind, by name. It is safe for concurrent use.
type Objects[T Object] struct {
	kind     string // in the plural
	informer cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration
	initial  bool // the first list is reported as changes, too; set before the start

	mu sync.Mutex
	// watched contains what the watch has reported. The store of the informer is changed before the handlers are
	// called: an object that is missing there may be in none of these maps.
	watched map[string]T
	// written contains the answers of the API server until the watch reports them or something newer.
	written map[string]answer[T]
	// deleted contains the last versions of objects that were deleted within MaxDelay.
	deleted map[string]answer[T]
	failure error // of the last list or watch; nil if it succeeded
}

// answer is an object with the time at which it became known.
type answer[T Object] struct {
	object T
	at     time.Time
	// again means that another object with the name may have been created since this one was deleted.
	again bool
}

// newObjects returns the objects that lister lists and watches. Changed is called for each change after the first list,
// with nil for an object that did not or does not exist.
func newObjects[T Object](example T, lister cache.ListerWatcher, changed func(was, is T)) *Objects[T] {
	o := &Objects[T]{kind: strings.TrimPrefix(fmt.Sprintf("%Ts", example), "*v1alpha1."),
		informer: cache.NewSharedIndexInformer(lister, example, 0, cache.Indexers{}),
		watched:  map[string]T{}, written: map[string]answer[T]{}, deleted: map[string]answer[T]{}}
	var none T
	// These fail only for an informer that has started or ended.
	o.handled, _ = o.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(added any, initial bool) {
			o.reported(added.(T))
			if !initial || o.initial {
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
	if isWritten && time.Since(own.at) > MaxDelay {
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
	found, exists := o.watched[name]
	if last, was := o.deleted[name]; exists && was && time.Since(last.at) <= MaxDelay && ends(last.object, found) {
		return object, false
	}
	return found, exists
}

// List returns all objects, sorted by name.
func (o *Objects[T]) List() []T {
	names := map[string]bool{}
	o.mu.Lock()
	for name := range o.watched {
		names[name] = true
	}
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
		o.written[object.GetName()] = answer[T]{object: object, at: time.Now()}
	}
}

// Deleted removes an object that was deleted, in its last known version. Until the watch reports the deletion, it may
// report any version of the object.
func (o *Objects[T]) Deleted(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(object)
}

// end records the deletion of an object.
func (o *Objects[T]) end(object T) {
	if own, exists := o.written[object.GetName()]; exists && ends(object, own.object) {
		delete(o.written, object.GetName())
	}
	maps.DeleteFunc(o.deleted, func(_ string, last answer[T]) bool { return time.Since(last.at) > MaxDelay })
	last, was := o.deleted[object.GetName()]
	if !was || older(last.object, object) {
		o.deleted[object.GetName()] = answer[T]{object: object, at: time.Now(),
			again: last.again && last.object.GetUID() == object.GetUID()}
	}
}

// Creating is called before an object with a name is created: the answer may get lost.
func (o *Objects[T]) Creating(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, was := o.deleted[name]; was {
		last.again = true
		o.deleted[name] = last
	}
}

// Gone reports whether it is certain that no object has a name: the last one was deleted within MaxDelay, as the watch
// or the API server has reported, and this process has created no other one.
func (o *Objects[T]) Gone(name string) bool {
	if _, exists := o.Get(name); exists {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	last, was := o.deleted[name]
	return was && !last.again && time.Since(last.at) <= MaxDelay
}

// reported stores an object that the watch has reported.
func (o *Objects[T]) reported(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failure = nil
	o.watched[object.GetName()] = object
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
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failure = nil
	delete(o.watched, object.GetName())
	o.drop(object)
	o.end(object)
}

// ends reports whether a version of an object does not exist any more after the deletion of last. After an interrupted
// watch, last is what the watch reported before: an answer to a write of the same object may be newer.
func ends(last, version metav1.Object) bool {
	return last.GetUID() != "" && last.GetUID() == version.GetUID() || !older(last, version)
}

// isSynced reports whether the objects have been listed once.
func (o *Objects[T]) isSynced() bool { return o.handled.HasSynced() }

// synced is closed when the objects have been listed once.
func (o *Objects[T]) synced() <-chan struct{} { return o.handled.HasSyncedChecker().Done() }

// name returns the kind, in the plural.
func (o *Objects[T]) name() string { return o.kind }

// unsynced returns why the objects have not been listed yet; "" if they have.
func (o *Objects[T]) unsynced() string {
	if o.handled.HasSynced() {
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
