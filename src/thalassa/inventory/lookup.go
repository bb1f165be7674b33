package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lookup finds objects by what people write in annotations, and remembers what there is not: a reference to something
// unknown must not list everything at every look.
type lookup[T any] struct {
	kind   *kind[T]
	absent *recent // keys that were missing in a list that began after they were first missed, and in all since
}

func newLookup[T any](k *kind[T]) lookup[T] {
	return lookup[T]{kind: k, absent: newRecent(absentMemory)}
}

// find returns the objects with the first of the keys that has any, from a list at most maxAge old. That there is none
// comes from a list that began after it was first missed, whoever asked for that, and is remembered for MachineAge.
func (l lookup[T]) find(ctx context.Context, keys []string, maxAge time.Duration) ([]T, error) {
	arrived := l.kind.arrive()
	if err := l.kind.refreshSince(ctx, maxAge, arrived); err != nil {
		return nil, err
	}
	found, err := l.kind.findFirst(ctx, keys)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		l.absent.forget(keys[0])
		return found, nil
	}
	s := l.kind.missing(keys[0], arrived)
	if knownAbsent(l.absent, keys[0], s.listed) {
		return nil, nil
	}
	if err := l.kind.refreshSince(ctx, Anew, s.sought); err != nil {
		return nil, err
	}
	found, err = l.kind.findFirst(ctx, keys)
	if err == nil && len(found) == 0 {
		l.absent.note(keys[0])
	}
	return found, err
}

// one is find for a reference that means one object. Kind is what it is called: "security group".
func (l lookup[T]) one(ctx context.Context, kind, reference string, keys []string,
	maxAge time.Duration) (object T, found bool, err error) {
	if reference == "" || strings.Contains(reference, "/") {
		return object, false, nil // no identity or slug, but perhaps a key of ours
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
		all = append(all, l.kind.id(object))
	}
	slices.Sort(all)
	return all
}

// knownAbsent says of something that a list which began at listed lacks whether no further one is needed to believe it:
// either it was noted lately, or the list began since, and none showed it in between.
func knownAbsent(absent *recent, key string, listed time.Time) bool {
	noted, known := absent.noted(key)
	if known && listed.After(noted) {
		absent.note(key)
		return true
	}
	return known && time.Since(noted) <= MachineAge
}
