package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// One list that lacks an object is no proof that it is gone: a server that lags behind may have answered, or one page
// may have been empty. What the copy had and we did not remove is asked for by its identity before anybody hears that
// it is not there.

// noteMissed wants mu held. It remembers what the previous copy had and the present one lacks.
func (k *kind[T]) noteMissed(previous map[string]T) {
	if k.ask == nil {
		return
	}
	for id, object := range previous {
		if !k.leaves(object) {
			k.missed[id] = missed[T]{object, time.Now(), k.copied}
		}
	}
	maps.DeleteFunc(k.missed, func(id string, m missed[T]) bool {
		_, listed := k.objects[id]
		return listed || time.Since(m.since) > missedMemory
	})
}

// missedMemory bounds how long an object is asked for that lists have left out: what so many lists lack, and nobody has
// looked for, is gone.
const missedMemory = time.Hour

// missed is an object that the copy had and a list left out.
type missed[T any] struct {
	object T
	since  time.Time
	list   uint64 // the number of the list
}

// One list that leaves out more than distrustAbove of what somebody looks for is rather wrong itself: another one is
// asked for before each object is. No look asks for more than askedAtMost, or it would take minutes; that is 20 seconds
// at the default rate.
const (
	distrustAbove = 20
	askedAtMost   = 1000
)

// askForMissed asks the cloud for every object with that key which lists left out, and believes what it says. The error
// may be that there are too many to ask for at once; whoever looks again goes on.
func (k *kind[T]) askForMissed(ctx context.Context, key string) error {
	ids, latest := k.missedWith(key)
	if latest > distrustAbove {
		if err := k.refresh(ctx, Anew); err != nil {
			return err
		}
		ids, _ = k.missedWith(key)
	}
	for at, id := range ids {
		if at == askedAtMost {
			return fmt.Errorf("two lists of the %s lack %d that existed before; each of them is being checked: %d "+
				"remain for the next check, which follows automatically", k.name, len(ids), len(ids)-at)
		}
		object, exists, err := k.ask(ctx, id)
		if err != nil {
			return fmt.Errorf("asking for %s of the %s, which the list lacks: %w", id, k.name, err)
		}
		k.confirm(id, object, exists)
	}
	return nil
}

// missedWith are the identities of objects with that key which lists left out, and how many of them the latest list was
// the first to.
func (k *kind[T]) missedWith(key string) (ids []string, latest int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, m := range k.missed {
		if id != key && !slices.Contains(k.keys(m.object), key) {
			continue
		}
		ids = append(ids, id)
		if m.list == k.copied {
			latest++
		}
	}
	return ids, latest
}

// confirm puts what the cloud said about a missed object into the copy, unless a list or a write of ours said more
// meanwhile.
func (k *kind[T]) confirm(id string, object T, exists bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, missed := k.missed[id]; !missed {
		return
	}
	delete(k.missed, id)
	if exists {
		k.replaceOne(object)
	}
}

// findExpected is find for a key that is known to have, or have had, so many objects: that there are fewer comes from
// two lists at least, because the first one has none before it that it could differ from.
func (k *kind[T]) findExpected(ctx context.Context, key string, maxAge time.Duration, expected int) ([]T, error) {
	found, err := k.find(ctx, key, maxAge)
	if err != nil || len(found) >= expected || k.confirmed() {
		return found, err
	}
	return k.find(ctx, key, Anew)
}

// confirmed says that the copy is not of the first list ever.
func (k *kind[T]) confirmed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lists > 1
}
