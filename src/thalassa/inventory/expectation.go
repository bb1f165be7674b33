package inventory

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// expectAfter records an expectation if a creation for the owner ended without an answer: the object may exist, its
// identity is not known, and lists may not contain it yet.
func (i *Inventory) expectAfter(owner string, err error) {
	if client.Uncertain(err) {
		i.expect(owner)
	}
}

// SinceVisible returns how long lists have certainly contained what another process had created before the first list
// of this one. It is negative before.
func (i *Inventory) SinceVisible() time.Duration {
	first := i.balancers.FirstList()
	if first.IsZero() {
		return -store.VisibilityDelay
	}
	return time.Since(first) - store.VisibilityDelay
}

func (i *Inventory) expect(owner string) { i.expectations.Put(owner, time.Now()) }

// Expecting returns how long objects of the owner may still exist that lists do not contain; 0 if there is no
// expectation. During this time, the absence of objects is not certain.
func (i *Inventory) Expecting(owner string) time.Duration {
	at, known := i.expectations.Get(owner)
	if !known {
		return 0
	}
	return max(0, store.VisibilityDelay-time.Since(at))
}

// maxAgeFor returns the maximum age of lists for an owner: at most maxAge, and none from before the end of an
// expectation.
func (i *Inventory) maxAgeFor(owner string, maxAge time.Duration) time.Duration {
	at, known := i.expectations.Get(owner)
	if ended := time.Since(at) - store.VisibilityDelay; known && ended >= 0 {
		return min(maxAge, ended)
	}
	return maxAge
}
