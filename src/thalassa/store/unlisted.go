package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// One list without an object does not prove that the object is gone: an outdated server may have answered, or a page
// may have been empty. An object that an earlier list contained, and that we did not delete, is requested by identity
// before it counts as gone.

// recordUnlisted requires that mu is held. It records objects that the previous list contained and the present one
// lacks.
func (s *Store[T]) recordUnlisted(previous map[string]T) {
	if s.Get == nil || s.TrustsLists {
		return
	}
	for id, object := range previous {
		if !s.Deleting(object) {
			s.unlisted[id] = unlistedObject[T]{object, time.Now(), s.copyNumber}
		}
	}
	maps.DeleteFunc(s.unlisted, func(id string, m unlistedObject[T]) bool {
		_, listed := s.objects[id]
		return listed || time.Since(m.since) > unlistedTTL
	})
}

// unlistedTTL is how long such objects are recorded: an object that lists have lacked for this time, and that nobody
// has looked up, is gone.
const unlistedTTL = time.Hour

// unlistedObject is an object that a list lacked.
type unlistedObject[T any] struct {
	object T
	since  time.Time
	list   uint64 // the number of the list
}

// If a list lacks more than relistAbove of the requested objects, the list itself is probably wrong, and another one is
// read before the objects are requested. One lookup makes at most maxConfirmations requests, which take 20 seconds at
// the default rate; more would take minutes.
const (
	relistAbove      = 20
	maxConfirmations = 1000
)

// ConfirmUnlisted requests every object with the key that lists lacked, and stores the result. The error may be that
// there are too many for one lookup; the next one continues.
func (s *Store[T]) ConfirmUnlisted(ctx context.Context, key string) error {
	ids, latest := s.unlistedWith(key)
	if latest > relistAbove {
		if err := s.Refresh(ctx, Fresh); err != nil {
			return err
		}
		ids, _ = s.unlistedWith(key)
	}
	for at, id := range ids {
		if at == maxConfirmations {
			return fmt.Errorf("two lists of the %s lack %d that existed before; each of them is being checked: %d "+
				"remain for the next check, which follows automatically", s.name, len(ids), len(ids)-at)
		}
		object, exists, err := s.Get(ctx, id)
		if err != nil {
			return fmt.Errorf("asking for %s of the %s, which the list lacks: %w", id, s.name, err)
		}
		s.putConfirmed(id, object, exists)
	}
	return nil
}

// unlistedWith returns the identities of objects with the key that lists lacked, and how many of them the latest list
// lacked first.
func (s *Store[T]) unlistedWith(key string) (ids []string, latest int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, m := range s.unlisted {
		if id != key && !slices.Contains(s.keys(m.object), key) {
			continue
		}
		ids = append(ids, id)
		if m.list == s.copyNumber {
			latest++
		}
	}
	return ids, latest
}

// putConfirmed stores the result of a request, unless a list or a write of ours is newer.
func (s *Store[T]) putConfirmed(id string, object T, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isUnlisted := s.unlisted[id]; !isUnlisted {
		return
	}
	delete(s.unlisted, id)
	if exists {
		s.replaceOne(object)
	}
}

// requested is the answer about one object.
type requested[T any] struct {
	object T
	exists bool
	item   trace.SpanContext // that requested it
}

// Request returns one object that lists lack: it is requested by identity, unless that was done in the last minute.
// Concurrent callers for the same object make one call; callers for other objects do not wait.
func (s *Store[T]) Request(ctx context.Context, id string) (object T, exists bool, err error) {
	done := s.requests.DoChan(id, func() (any, error) {
		answer, err := s.requestOne(context.WithoutCancel(ctx), id)
		answer.item = trace.SpanContextFromContext(ctx)
		return answer, err
	})
	select {
	case <-ctx.Done():
		return object, false, ctx.Err()
	case result := <-done:
		answer := result.Val.(requested[T])
		tracing.Link(ctx, answer.item)
		return answer.object, answer.exists, result.Err
	}
}

func (s *Store[T]) requestOne(ctx context.Context, id string) (requested[T], error) {
	stored, err := s.FindNow(ctx, id)
	switch {
	case err != nil:
		return requested[T]{}, err
	case len(stored) > 0:
		return requested[T]{object: stored[0], exists: true}, nil
	case s.RecentlyAbsent(id):
		return requested[T]{}, nil
	}
	readNumber := s.BeginRead()
	object, exists, err := s.Get(ctx, id)
	switch {
	case err != nil:
	case exists:
		s.PutFetched(object, readNumber)
	default:
		s.AddAbsent(id)
	}
	return requested[T]{object: object, exists: exists}, err
}

// RequestMissing requests the objects with these identities that are not stored, because other objects refer to them: a
// process that has just begun knows no earlier list, and both of its first ones may lack an object. It reports whether
// it has stored any. That there is none is cached for a minute.
func (s *Store[T]) RequestMissing(ctx context.Context, ids []string) (stored bool, err error) {
	for _, id := range ids {
		known, err := s.FindNow(ctx, id)
		if err != nil {
			return false, err
		}
		if len(known) > 0 {
			continue
		}
		_, exists, err := s.Request(ctx, id)
		if err != nil {
			return false, fmt.Errorf("asking for %s of the %s, which the list lacks and another object uses: %w", id,
				s.name, err)
		}
		stored = stored || exists
	}
	return stored, nil
}

// FindExpected is Find for a key with an expected number of objects. If fewer are found, the result comes from at least
// two lists, because there is no earlier list to compare the first one with.
func (s *Store[T]) FindExpected(ctx context.Context, key string, maxAge time.Duration, expected int) ([]T, error) {
	found, err := s.Find(ctx, key, maxAge)
	if err != nil || len(found) >= expected || s.listedTwice() {
		return found, err
	}
	return s.Find(ctx, key, Fresh)
}

// listedTwice reports whether there was more than one list.
func (s *Store[T]) listedTwice() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listCount > 1
}
