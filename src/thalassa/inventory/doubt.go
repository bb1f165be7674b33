package inventory

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// doubt remembers that a creation for the owner ended without an answer: the object may exist, nobody knows its
// identity, and lists may not show it yet.
func (i *Inventory) doubt(owner string, err error) {
	if client.Uncertain(err) {
		i.doubts.note(owner)
	}
}

// Inherit says that whoever led before this process may have made something for the owner, perhaps just before it
// ended: until lists have had time to show that, its creation is as doubtful as one of our own that ended without an
// answer.
func (i *Inventory) Inherit(owner string) {
	first := i.balancers.first()
	if _, known := i.doubts.noted(owner); known || i.seen.has(owner) ||
		(!first.IsZero() && time.Since(first) > visibleAfter) {
		return
	}
	i.doubts.note(owner)
}

// Seen says that lists have shown something of the owner's, so that nothing is inherited that they may not show yet.
func (i *Inventory) Seen(owner string) {
	if !i.seen.has(owner) {
		i.seen.note(owner)
	}
}

// Doubtful is for how long something of the owner's may still exist that lists do not show yet; 0 when they do. So long
// nobody may take for certain that nothing is there.
func (i *Inventory) Doubtful(owner string) time.Duration {
	at, known := i.doubts.noted(owner)
	if !known {
		return 0
	}
	return max(0, visibleAfter-time.Since(at))
}

// certain is how old lists may be for an owner: at most maxAge, and none from before the end of a doubt, which say
// nothing after it.
func (i *Inventory) certain(owner string, maxAge time.Duration) time.Duration {
	at, known := i.doubts.noted(owner)
	if ended := time.Since(at) - visibleAfter; known && ended > 0 {
		return min(maxAge, ended)
	}
	return maxAge
}
