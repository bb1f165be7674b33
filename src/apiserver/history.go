package apiserver

import (
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// remembered is the number of changes that the history has at least, for watches that begin again.
const remembered = 1000

// change is one change of an object.
type change struct {
	version     int64
	at          time.Time
	kind        *Kind
	event       watch.EventType
	object, old stored
}

// history has the changes from which watches are served. Positions count all changes, also those that are forgotten.
type history struct {
	changes   []change
	forgotten int             // the number of changes that are forgotten
	oldest    map[*Kind]int64 // watches cannot begin at a version before this one
	delay     time.Duration   // until a watch reports a change
}

func (h *history) add(c change) {
	c.at = time.Now()
	h.changes = append(h.changes, c)
}

// trim forgets old changes before a position, if there are many: large tests would need too much memory.
func (h *history) trim(position int) {
	n := min(position-h.forgotten, len(h.changes)-remembered)
	if n < remembered {
		return
	}
	for _, c := range h.changes[:n] {
		h.oldest[c.kind] = c.version
	}
	h.changes = slices.Clone(h.changes[n:])
	h.forgotten += n
}

// forget removes all changes before a version. Watches that begin before it are refused.
func (h *history) forget(kinds []*Kind, version int64) {
	h.forgotten += len(h.changes)
	h.changes = nil
	for _, k := range kinds {
		h.oldest[k] = version
	}
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
