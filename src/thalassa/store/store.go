// Package store caches the objects of the cloud of one kind. Callers specify how old an answer may be, and share the
// lists that are read for it.
package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Fresh as an age accepts only a list that began after the call.
const Fresh = time.Duration(-1)

// VisibilityDelay is how long after its creation an object may be missing in lists. The delay of the API is not
// documented, and an object that is taken for deleted would be created twice.
const VisibilityDelay = time.Minute

// Store is the shared cache of all cloud objects of one kind. Readers specify how old the list may be; readers that
// need a newer one at the same time share one call.
//
// Our own writes are stored at once. A list that began before a write may not contain it, so what was written since
// then is kept.
type Store[T any] struct {
	name string // plural, for errors: "machines"
	id   func(T) string
	keys func(T) []string // index keys of an object, in addition to its identity
	// List reads all objects.
	List func(ctx context.Context) ([]T, error)
	// Deleting reports whether an object is being deleted, so that a list without it proves that it is gone.
	Deleting func(T) bool
	// ToleratesDuplicates: a second object does little harm. An object that we created, and that lists contained once
	// and do not contain any more, is then requested at once.
	ToleratesDuplicates bool
	// Get requests one object by identity; nil: lists alone decide. exists is false if there is none, or if list would
	// not return it.
	Get func(ctx context.Context, id string) (object T, exists bool, err error)
	// TrustsLists: an object that a list lacks is only requested by Request.
	TrustsLists bool

	mu         sync.Mutex
	objects    map[string]T
	index      map[string]map[string]bool // key -> identities
	copyBegan  time.Time                  // when the present list began; zero: there is none
	listCount  int                        // the number of lists so far
	firstBegan time.Time                  // when the first list began
	inFlight   *listCall                  // nil if there is none
	requests   singleflight.Group         // of Request
	// key -> number of the first reader that did not find it in the present list
	absentSince map[string]uint64
	absent      *TTLCache[time.Time]         // negative cache: key -> when it was last known to be absent
	unlisted    map[string]unlistedObject[T] // objects that a list lacked, until they are looked up

	// Lists, writes and invalidations get numbers when they begin, so that their order is known even within one tick of
	// the clock.
	sequence    uint64
	copyNumber  uint64              // number of the present list
	written     map[string]uint64   // identity -> our latest write (or deletion) of it
	created     map[string]creation // by identity, for at most visibilityDelay
	invalidated uint64              // lists with a lower number are not valid
}

// creation is when we created an object, and whether a list has contained it since.
type creation struct {
	at    time.Time
	shown bool
}

// listCall is a list call that several readers may wait for.
type listCall struct {
	began  time.Time
	number uint64
	item   trace.SpanContext // that started it
	done   chan struct{}
	err    error // valid once done is closed
}

// New returns an empty store. name is the plural of the kind, id returns an object's identity, and keys returns other
// keys that it is found by.
func New[T any](name string, list func(context.Context) ([]T, error), id func(T) string,
	keys func(T) []string) *Store[T] {
	return &Store[T]{name: name, List: list, id: id, keys: keys, Deleting: func(T) bool { return false },
		objects: map[string]T{}, index: map[string]map[string]bool{}, unlisted: map[string]unlistedObject[T]{},
		absentSince: map[string]uint64{}, absent: NewTTLCache[time.Time](AbsentTTL),
		written: map[string]uint64{}, created: map[string]creation{}}
}

// Find returns all objects with the key, from a list at most maxAge old. An empty result means that there was no object
// at that time; an error means that nothing is known.
func (s *Store[T]) Find(ctx context.Context, key string, maxAge time.Duration) ([]T, error) {
	if err := s.Refresh(ctx, maxAge); err != nil {
		return nil, err
	}
	return s.FindNow(ctx, key)
}

// FindNow is Find without a maximum age.
func (s *Store[T]) FindNow(ctx context.Context, key string) ([]T, error) {
	if err := s.ConfirmUnlisted(ctx, key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookup(key), nil
}

// All returns all objects, from a list at most maxAge old, sorted by identity.
func (s *Store[T]) All(ctx context.Context, maxAge time.Duration) ([]T, error) {
	if err := s.Refresh(ctx, maxAge); err != nil {
		return nil, err
	}
	return s.Where(func(T) bool { return true }), nil
}

// Where returns the stored objects for which the condition holds, sorted by identity.
func (s *Store[T]) Where(holds func(T) bool) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []T
	for _, object := range s.objects {
		if holds(object) {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, s.compare)
	return found
}

// WithAnyKey returns the stored objects with any of the keys, each once, sorted by identity.
func (s *Store[T]) WithAnyKey(keys []string) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []T
	for _, key := range keys {
		found = append(found, s.lookup(key)...)
	}
	slices.SortFunc(found, s.compare)
	return slices.CompactFunc(found, func(a, b T) bool { return s.compare(a, b) == 0 })
}

func (s *Store[T]) compare(a, b T) int { return cmp.Compare(s.id(a), s.id(b)) }

// lookup requires that mu is held.
func (s *Store[T]) lookup(key string) []T {
	var found []T
	for id := range s.index[key] {
		found = append(found, s.objects[id])
	}
	return found
}

// Refresh returns when the list is at most maxAge old, or began after this call: if the cloud is slow, a list may be
// older than maxAge when it arrives.
func (s *Store[T]) Refresh(ctx context.Context, maxAge time.Duration) error {
	return s.refreshSince(ctx, maxAge, s.BeginRead())
}

// BeginRead returns a number for a reader that begins now.
func (s *Store[T]) BeginRead() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next()
}

// refreshSince is refresh for a reader with the number.
func (s *Store[T]) refreshSince(ctx context.Context, maxAge time.Duration, readNumber uint64) error {
	return s.waitUntil(ctx, func() bool {
		// A list that began after the reader is sufficient, even if a write failed since: the reader's own write came
		// before.
		return s.copyNumber > readNumber || (s.valid() && time.Since(s.copyBegan) <= maxAge)
	})
}

// WaitForNewer returns when the list began after a time.
func (s *Store[T]) WaitForNewer(ctx context.Context, began time.Time) error {
	return s.waitUntil(ctx, func() bool { return s.copyBegan.After(began) })
}

// waitUntil returns when the list is new enough. enough is called with mu held.
func (s *Store[T]) waitUntil(ctx context.Context, enough func() bool) error {
	for {
		// A list that is in flight may have begun too early; the next one begins after this call.
		current := s.joinOrStart(ctx, enough)
		if current == nil {
			return nil
		}
		select {
		case <-current.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the list of %s: %w", s.name, context.Cause(ctx))
		}
		if current.err != nil {
			return current.err
		}
	}
}

// joinOrStart returns the list call to wait for, and starts one if none is in flight; nil if the list is new enough.
func (s *Store[T]) joinOrStart(ctx context.Context, enough func() bool) *listCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if enough() {
		return nil
	}
	if s.inFlight != nil {
		tracing.Link(ctx, s.inFlight.item)
	} else {
		s.inFlight = &listCall{began: time.Now(), number: s.next(), done: make(chan struct{}),
			item: trace.SpanContextFromContext(ctx)}
		// Other readers may wait for this list, so it does not end with the context of the first one.
		go s.fetch(context.WithoutCancel(ctx), s.inFlight)
	}
	return s.inFlight
}

func (s *Store[T]) fetch(ctx context.Context, call *listCall) {
	objects, err := s.List(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(call.done)
	s.inFlight = nil
	if err != nil {
		call.err = fmt.Errorf("listing %s: %w", s.name, err)
		return
	}
	s.replace(objects, call)
}

// next requires that mu is held.
func (s *Store[T]) next() uint64 {
	s.sequence++
	return s.sequence
}

// replace requires that mu is held. It stores the objects of a list, but keeps what we wrote since that list began.
func (s *Store[T]) replace(objects []T, call *listCall) {
	previous := s.objects
	s.objects, s.index = make(map[string]T, len(objects)), map[string]map[string]bool{}
	for _, object := range objects {
		s.insert(object)
		if made, lately := s.created[s.id(object)]; lately {
			s.created[s.id(object)] = creation{at: made.at, shown: true}
		}
		s.absent.Remove(s.id(object))
	}
	for id, write := range s.written {
		if write < call.number {
			delete(s.written, id)
			continue
		}
		s.remove(id)
		if ours, exists := previous[id]; exists {
			s.insert(ours)
		}
	}
	maps.DeleteFunc(s.absentSince, func(_ string, since uint64) bool { return since < call.number })
	s.copyNumber, s.copyBegan = call.number, call.began
	if s.listCount++; s.listCount == 1 {
		s.firstBegan = call.began
	}
	s.keepCreated(previous)
	s.recordUnlisted(previous)
}

// keepCreated requires that mu is held. It keeps objects that we created recently and that the list does not contain
// yet.
func (s *Store[T]) keepCreated(previous map[string]T) {
	for id, made := range s.created {
		ours, known := previous[id]
		if !known || time.Since(made.at) > VisibilityDelay || s.Deleting(ours) {
			delete(s.created, id)
			continue
		}
		// The next list may come from another server and lack the object. If duplicates do little harm, the object is
		// requested instead.
		if _, listed := s.objects[id]; !listed && !(made.shown && s.ToleratesDuplicates) {
			s.insert(ours)
		}
	}
}

// valid requires that mu is held. It reports whether there is a list that was not invalidated.
func (s *Store[T]) valid() bool { return s.copyNumber > s.invalidated }

// FirstList is when the first list began; zero before.
func (s *Store[T]) FirstList() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firstBegan
}

// Each calls visit for each of the identities, whether there is an object or not.
func (s *Store[T]) Each(ids []string, visit func(id string, object T, known bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		object, known := s.objects[id]
		visit(id, object, known)
	}
}

// Invalidate causes the next reader to list again, whatever age it accepts: a write failed, and its effect is not
// known.
func (s *Store[T]) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidated = s.next()
}

// CopyTime is when the present list began, valid or not; zero if there is none.
func (s *Store[T]) CopyTime() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copyBegan
}
