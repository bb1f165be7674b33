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

// ExpectFromPreviousLeader records an expectation for objects that the previous leader may have created for the owner
// immediately before it ended. It lasts until lists must contain such objects.
func (i *Inventory) ExpectFromPreviousLeader(owner string) {
	first := i.balancers.FirstList()
	_, expected := i.expectations.Get(owner)
	_, known := i.knownOwners.Get(owner)
	if !expected && !known && (first.IsZero() || time.Since(first) <= store.VisibilityDelay) {
		i.expect(owner)
	}
}

func (i *Inventory) expect(owner string) { i.expectations.Put(owner, time.Now()) }

// OwnerKnown records that the previous leader's objects of the owner are not expected: lists contain objects of it, or
// it had none when this process began to create them.
func (i *Inventory) OwnerKnown(owner string) {
	if _, known := i.knownOwners.Get(owner); !known {
		i.knownOwners.Put(owner, time.Now())
	}
}

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
