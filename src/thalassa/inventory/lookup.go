package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lookup finds objects by the references in annotations. It has a negative cache, so that a reference to an unknown
// object does not cause a list at every reconciliation.
type lookup[T any] struct {
	store *store[T]
	// negative cache: keys that were missing in a list that began after the first lookup, and in all lists since
	absent *ttlSet
}

func newLookup[T any](s *store[T]) lookup[T] {
	return lookup[T]{store: s, absent: newTTLSet(absentTTL)}
}

// find returns the objects with the first of the keys that has any, from a list at most maxAge old. "Not found" comes
// from a list that began after the first lookup, by any caller, and is cached for MachineAge.
func (l lookup[T]) find(ctx context.Context, keys []string, maxAge time.Duration) ([]T, error) {
	readNumber := l.store.beginRead()
	if err := l.store.refreshSince(ctx, maxAge, readNumber); err != nil {
		return nil, err
	}
	found, err := l.store.findFirst(ctx, keys)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		l.absent.remove(keys[0])
		return found, nil
	}
	s := l.store.recordAbsent(keys[0], readNumber)
	if knownAbsent(l.absent, keys[0], s.listed) {
		return nil, nil
	}
	if err := l.store.refreshSince(ctx, Fresh, s.absentSince); err != nil {
		return nil, err
	}
	found, err = l.store.findFirst(ctx, keys)
	if err == nil && len(found) == 0 {
		l.absent.add(keys[0])
	}
	return found, err
}

// one is find for a reference to one object. kind is its name in errors: "security group".
func (l lookup[T]) one(ctx context.Context, kind, reference string, keys []string,
	maxAge time.Duration) (object T, found bool, err error) {
	if reference == "" || strings.Contains(reference, "/") {
		return object, false, nil // not an identity or slug, but perhaps a key of the index
	}
	objects, err := l.find(ctx, keys, maxAge)
	switch {
	case err != nil || len(objects) == 0:
		return object, false, err
	case len(objects) > 1:
		return object, false, fmt.Errorf("%s %q is the name of several objects: %s; use the identity of one", kind,
			reference, strings.Join(l.identities(objects), ", "))
	}
	return objects[0], true, nil
}

func (l lookup[T]) identities(objects []T) []string {
	var all []string
	for _, object := range objects {
		all = append(all, l.store.id(object))
	}
	slices.Sort(all)
	return all
}

// knownAbsent reports whether a key that a list lacks is absent without reading another list. listed is when that list
// began. The key was added to the negative cache recently, or the list began since, and no list contained it in
// between.
func knownAbsent(absent *ttlSet, key string, listed time.Time) bool {
	addedAt, known := absent.addedAt(key)
	if known && listed.After(addedAt) {
		absent.add(key)
		return true
	}
	return known && time.Since(addedAt) <= MachineAge
}
