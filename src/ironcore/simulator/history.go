package simulator

import (
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// change is one change of an object.
type change struct {
	version     int64
	at          time.Time
	kind        *kind
	event       watch.EventType
	object, old stored
}

// history has the changes from which watches are served. Positions count all changes, also those that are forgotten.
type history struct {
	changes   []change
	forgotten int           // the number of changes that are forgotten
	oldest    int64         // watches cannot begin at a version before this one
	delay     time.Duration // until a watch reports a change
}

func (h *history) add(c change) {
	c.at = time.Now()
	h.changes = append(h.changes, c)
}

// forget removes all changes. Watches from a version before this one are refused.
func (h *history) forget(version int64) {
	h.forgotten += len(h.changes)
	h.changes, h.oldest = nil, version
}

// after returns the position of the first change after a version.
func (h *history) after(version int64) int {
	return h.forgotten + sort.Search(len(h.changes), func(i int) bool { return h.changes[i].version > version })
}

// get returns the change at a position, and how long a watch must wait for it. ok means that there is one.
func (h *history) get(position int) (c change, wait time.Duration, ok bool) {
	i := position - h.forgotten
	if i < 0 || i >= len(h.changes) {
		return change{}, 0, false
	}
	c = h.changes[i]
	return c, time.Until(c.at.Add(h.delay)), true
}
