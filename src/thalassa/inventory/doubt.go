package inventory

import "github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"

// doubt remembers that a creation for the owner ended without an answer: the object may exist, nobody knows its identity, and
// lists may not show it yet.
func (i *Inventory) doubt(owner string, err error) {
	if client.Uncertain(err) {
		i.doubts.note(owner)
	}
}

// Doubtful says that something of the owner's may exist that lists do not show yet. So long nobody may take for certain that
// nothing is there.
func (i *Inventory) Doubtful(owner string) bool { return i.doubts.has(owner) }
