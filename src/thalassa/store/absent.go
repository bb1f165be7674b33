package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A list that lacks an object may have begun before the object was created. An object is therefore absent only if a
// list lacks it that began after the first lookup, by any caller. The negative cache contains the keys of absent
// objects, so that a reference to an unknown object does not cause a list at every reconciliation.

// AbsentTTL is how long a key is in the negative cache without another list: longer than the usual interval between
// lists.
const AbsentTTL = time.Hour

// absentAge is how long a key in the negative cache is absent without another list.
const absentAge = time.Minute

// RecordAbsent records that a reader with the number did not find the keys.
func (s *Store[T]) RecordAbsent(keys []string, readNumber uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if _, before := s.absentSince[key]; !before && s.copyNumber < readNumber {
			s.absentSince[key] = readNumber
		}
	}
}

// RelistAbsent returns those of the recorded keys that are not in the negative cache. It reads a list that began after
// the first lookup of each of these.
func (s *Store[T]) RelistAbsent(ctx context.Context, keys []string) (unknown []string, err error) {
	unknown, since := s.notKnownAbsent(keys)
	if len(unknown) == 0 {
		return nil, nil
	}
	return unknown, s.refreshSince(ctx, Fresh, since)
}

// notKnownAbsent returns those of the recorded keys that are not in the negative cache, and the number of the latest of
// their first readers.
func (s *Store[T]) notKnownAbsent(keys []string) (unknown []string, since uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if !s.knownAbsent(key) {
			unknown, since = append(unknown, key), max(since, s.absentSince[key])
		}
	}
	return unknown, since
}

// knownAbsent requires that mu is held. It reports whether a key that the present list lacks is absent without reading
// another one: the key was added to the negative cache recently, or the list began since, and no list contained it in
// between.
func (s *Store[T]) knownAbsent(key string) bool {
	if addedAt, known := s.absent.Get(key); known && s.valid() && s.copyBegan.After(addedAt) {
		s.AddAbsent(key)
	}
	return s.RecentlyAbsent(key)
}

// AddAbsent adds a key to the negative cache.
func (s *Store[T]) AddAbsent(key string) { s.absent.Put(key, time.Now()) }

// RecentlyAbsent reports whether the key was added to the negative cache recently.
func (s *Store[T]) RecentlyAbsent(key string) bool {
	addedAt, known := s.absent.Get(key)
	return known && time.Since(addedAt) <= absentAge
}

// LookUp returns the objects with the first of the keys that has any, from a list at most maxAge old. "Not found" comes
// from a list that began after the first lookup, and is cached for a minute.
func (s *Store[T]) LookUp(ctx context.Context, keys []string, maxAge time.Duration) ([]T, error) {
	readNumber := s.BeginRead()
	if err := s.refreshSince(ctx, maxAge, readNumber); err != nil {
		return nil, err
	}
	found, err := s.findFirst(ctx, keys)
	if err != nil || len(found) > 0 {
		return found, err
	}
	s.RecordAbsent(keys[:1], readNumber)
	if unknown, err := s.RelistAbsent(ctx, keys[:1]); err != nil || len(unknown) == 0 {
		return nil, err
	}
	found, err = s.findFirst(ctx, keys)
	if err == nil && len(found) == 0 {
		s.AddAbsent(keys[0])
	}
	return found, err
}

// findFirst returns the objects with the first of the keys that has any, without a maximum age.
func (s *Store[T]) findFirst(ctx context.Context, keys []string) ([]T, error) {
	for _, key := range keys {
		found, err := s.FindNow(ctx, key)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			s.absent.Remove(keys[0])
			return found, nil
		}
	}
	return nil, nil
}

// LookUpOne is LookUp for a reference to one object. kind is its name in errors: "security group".
func (s *Store[T]) LookUpOne(ctx context.Context, kind, reference string, keys []string,
	maxAge time.Duration) (object T, found bool, err error) {
	if reference == "" || strings.Contains(reference, "/") {
		return object, false, nil // not an identity or slug, but perhaps a key of the index
	}
	objects, err := s.LookUp(ctx, keys, maxAge)
	switch {
	case err != nil || len(objects) == 0:
		return object, false, err
	case len(objects) > 1:
		return object, false, fmt.Errorf("%s %q is the name of several objects: %s; use the identity of one", kind,
			reference, strings.Join(s.identities(objects), ", "))
	}
	return objects[0], true, nil
}

func (s *Store[T]) identities(objects []T) []string {
	var all []string
	for _, object := range objects {
		all = append(all, s.id(object))
	}
	slices.Sort(all)
	return all
}
