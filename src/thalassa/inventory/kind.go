package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// minRefreshInterval bounds how often one kind is listed because something was missed: a node whose machine does not
// exist must not list all machines again and again.
const minRefreshInterval = 2 * time.Second

// Anew as an age accepts only a list that began after the reader came.
const Anew = time.Duration(-1)

// visibleAfter is how long after its creation an object may be missing in lists: how soon the API shows it is not
// documented, and taking it for gone would make a second one.
const visibleAfter = time.Minute

// kind is the shared copy of all cloud objects of one kind. Whoever reads says how old the copy may be; readers that
// need a newer one at the same time share one list call.
//
// Our own writes are put into the copy at once. A list that was begun before a write may not contain it yet, so what we
// wrote since then survives that list.
type kind[T any] struct {
	name string // plural, for errors: "machines"
	list func(ctx context.Context) ([]T, error)
	id   func(T) string
	keys func(T) []string // what objects are found by, besides their identity
	// leaving says of an object that it is going away, so that a list without it says that it is gone; nil: none ever.
	leaving func(T) bool
	// replaceable says that a second object does little harm. What we created, and lists show no more, is then asked
	// for at once.
	replaceable bool
	// present hears the identity of each object that a list shows; nil: nobody does.
	present func(id string)
	// ask gets one object by identity, whatever lists say; nil: lists are believed. Exists is false when there is none,
	// or none that list would return.
	ask func(ctx context.Context, id string) (object T, exists bool, err error)

	mu      sync.Mutex
	objects map[string]T
	index   map[string]map[string]bool // key -> identities
	listed  time.Time                  // the same as made; zero: never, or no longer to be trusted
	made    time.Time                  // when the list began that the copy is made of; zero: never
	lists   int                        // how many made the copy
	began   time.Time                  // when the first of them did
	changes uint64                     // how often it changed
	flight  *flight                    // the list call under way, if any
	sought  map[string]uint64          // identity -> since when it was looked for in vain, in this copy
	missed  map[string]missed[T]       // what the copy had and a list left out, until somebody looks for it

	// Lists, writes and doubts are numbered as they begin, so that it is known which came first, even within one tick
	// of the clock.
	sequence uint64
	copied   uint64              // the list that the copy is made of
	written  map[string]uint64   // identity -> our latest write (or deletion) of it
	created  map[string]creation // by identity, for visibleAfter at most
	doubted  uint64              // lists that began before this do not count any more
}

// creation is when we created an object, and whether a list has shown it since.
type creation struct {
	at    time.Time
	shown bool
}

// flight is one list call that several readers wait for.
type flight struct {
	began  time.Time
	number uint64
	done   chan struct{}
	err    error // valid once done is closed
}

func newKind[T any](name string, list func(context.Context) ([]T, error), id func(T) string,
	keys func(T) []string) *kind[T] {
	return &kind[T]{name: name, list: list, id: id, keys: keys,
		objects: map[string]T{}, index: map[string]map[string]bool{}, missed: map[string]missed[T]{},
		sought:  map[string]uint64{},
		written: map[string]uint64{}, created: map[string]creation{}}
}

// find returns all objects with the given key, from a copy that is at most maxAge old. The empty result means that
// there was none when the copy was made; an error means that nothing is known.
func (k *kind[T]) find(ctx context.Context, key string, maxAge time.Duration) ([]T, error) {
	if err := k.refresh(ctx, maxAge); err != nil {
		return nil, err
	}
	return k.findNow(ctx, key)
}

// findNow is find in the copy as it is, whatever its age.
func (k *kind[T]) findNow(ctx context.Context, key string) ([]T, error) {
	if err := k.askForMissed(ctx, key); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lookup(key), nil
}

// findFirst returns the objects with the first of the keys that has any, in the copy as it is, whatever its age.
func (k *kind[T]) findFirst(ctx context.Context, keys []string) (found []T, err error) {
	for _, key := range keys {
		if found, err = k.findNow(ctx, key); err != nil || len(found) > 0 {
			break
		}
	}
	return found, err
}

// missing is what is known of a key that nothing has, for a reader who came when arrived was the number.
func (k *kind[T]) missing(key string, arrived uint64) sighting[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, before := k.sought[key]; !before && k.copied < arrived {
		k.sought[key] = arrived
	}
	since, sought := k.sought[key]
	if !sought {
		since = arrived // and the copy is newer than that
	}
	return sighting[T]{listed: k.listed, sought: since}
}

// all returns all objects, from a copy that is at most maxAge old, sorted by identity.
func (k *kind[T]) all(ctx context.Context, maxAge time.Duration) ([]T, error) {
	if err := k.refresh(ctx, maxAge); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.SortedFunc(maps.Values(k.objects), func(a, b T) int { return cmp.Compare(k.id(a), k.id(b)) }), nil
}

// lookup wants mu held.
func (k *kind[T]) lookup(key string) []T {
	var found []T
	for id := range k.index[key] {
		found = append(found, k.objects[id])
	}
	return found
}

// refresh returns once the copy is at most maxAge old, or made of a list that began after this call: with a slow cloud
// a copy may be older than maxAge on arrival.
func (k *kind[T]) refresh(ctx context.Context, maxAge time.Duration) error {
	return k.refreshSince(ctx, maxAge, k.arrive())
}

// arrive is the number of a reader who comes now.
func (k *kind[T]) arrive() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.next()
}

// refreshSince is refresh for a reader who came when arrived was the number.
func (k *kind[T]) refreshSince(ctx context.Context, maxAge time.Duration, arrived uint64) error {
	return k.await(ctx, func() bool {
		// A list that began after the reader came is good enough, even if a write failed since: the reader's own came
		// before.
		return k.copied > arrived || (!k.listed.IsZero() && time.Since(k.listed) <= maxAge)
	})
}

// await returns once the copy is new enough, which is asked with mu held.
func (k *kind[T]) await(ctx context.Context, enough func() bool) error {
	for {
		// A list that was under way already may be too old; the one after it began for us.
		current := k.board(ctx, enough)
		if current == nil {
			return nil
		}
		select {
		case <-current.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the list of %s: %w", k.name, context.Cause(ctx))
		}
		if current.err != nil {
			return current.err
		}
	}
}

// board returns the list call to wait for, beginning one if none is under way; nil when the copy is new enough.
func (k *kind[T]) board(ctx context.Context, enough func() bool) *flight {
	k.mu.Lock()
	defer k.mu.Unlock()
	if enough() {
		return nil
	}
	if k.flight == nil {
		k.flight = &flight{began: time.Now(), number: k.next(), done: make(chan struct{})}
		// The list serves everybody who waits, so it does not end with the one who happened to come first.
		go k.fetch(context.WithoutCancel(ctx), k.flight)
	}
	return k.flight
}

func (k *kind[T]) fetch(ctx context.Context, f *flight) {
	objects, err := k.list(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(f.done)
	k.flight = nil
	if err != nil {
		f.err = fmt.Errorf("listing %s: %w", k.name, err)
		return
	}
	k.replace(objects, f)
}

// next wants mu held.
func (k *kind[T]) next() uint64 {
	k.sequence++
	return k.sequence
}

// replace wants mu held. It makes objects, listed by f, the copy, but keeps what we wrote since that list began.
func (k *kind[T]) replace(objects []T, f *flight) {
	previous := k.objects
	k.changes++
	k.objects, k.index = make(map[string]T, len(objects)), map[string]map[string]bool{}
	for _, object := range objects {
		k.insert(object)
		if made, lately := k.created[k.id(object)]; lately {
			k.created[k.id(object)] = creation{at: made.at, shown: true}
		}
		if k.present != nil {
			k.present(k.id(object))
		}
	}
	for id, write := range k.written {
		if write < f.number {
			delete(k.written, id)
			continue
		}
		k.remove(id)
		if ours, exists := previous[id]; exists {
			k.insert(ours)
		}
	}
	maps.DeleteFunc(k.sought, func(_ string, since uint64) bool { return since < f.number })
	k.copied, k.made = f.number, f.began
	if k.lists++; k.lists == 1 {
		k.began = f.began
	}
	if k.doubted < f.number {
		k.listed = f.began
	}
	k.keepCreated(previous)
	k.noteMissed(previous)
}

// keepCreated wants mu held. It puts back what we created lately and the list does not show yet.
func (k *kind[T]) keepCreated(previous map[string]T) {
	for id, made := range k.created {
		ours, known := previous[id]
		if !known || time.Since(made.at) > visibleAfter || k.leaves(ours) {
			delete(k.created, id)
			continue
		}
		// One list that shows it says nothing about the next, which another server may answer: where that matters
		// little, the cloud is asked.
		if _, listed := k.objects[id]; !listed && !(made.shown && k.replaceable) {
			k.insert(ours)
		}
	}
}

func (k *kind[T]) leaves(object T) bool { return k.leaving != nil && k.leaving(object) }

// first is when the first list began that was ever read; zero before.
func (k *kind[T]) first() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.began
}

// current is the revision of the copy as it is: another number each time it changes.
func (k *kind[T]) current() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changes
}

// sighting is whether an object is in the copy.
type sighting[T any] struct {
	object T
	known  bool
	listed time.Time // when the list began that the copy is made of; zero when it is not to be trusted
	// sought is since when an object that is not there is looked for, by whoever was the first: a list that began later
	// says enough.
	sought uint64
}

// each visits the objects with these identities in the copy as it is, and those that are not there, and returns its
// revision.
func (k *kind[T]) each(ids []string, visit func(id string, s sighting[T])) (revision uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ids {
		object, known := k.objects[id]
		if _, before := k.sought[id]; !known && !before {
			k.sought[id] = k.next()
		}
		visit(id, sighting[T]{object, known, k.listed, k.sought[id]})
	}
	return k.changes
}

// distrust makes the next reader list again, whatever age it accepts: a write failed, and what it did is not known.
func (k *kind[T]) distrust() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listed, k.doubted = time.Time{}, k.next()
}
