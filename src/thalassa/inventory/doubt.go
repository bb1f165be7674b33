package inventory

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// doubt remembers that a creation for the owner ended without an answer: the object may exist, nobody knows its identity, and
// lists may not show it yet.
func (i *Inventory) doubt(owner string, err error) {
	if client.Uncertain(err) {
		i.doubts.note(owner)
	}
}

// Doubtful says that something of the owner's may exist that lists do not show yet. So long nobody may take for certain that
// nothing is there.
func (i *Inventory) Doubtful(owner string) bool {
	at, known := i.doubts.noted(owner)
	return known && time.Since(at) <= visibleAfter
}

// certain is how old lists may be for an owner: at most maxAge, and none from before the end of a doubt, which say nothing after it.
func (i *Inventory) certain(owner string, maxAge time.Duration) time.Duration {
	at, known := i.doubts.noted(owner)
	if ended := time.Since(at) - visibleAfter; known && ended > 0 {
		return min(maxAge, ended)
	}
	return maxAge
}
