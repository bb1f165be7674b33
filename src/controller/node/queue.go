package node

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// Pauses before a Node is looked at again that could not be initialised or written.
const (
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
	// conflictDelay is how long the cache usually takes to show what somebody else wrote.
	conflictDelay = 100 * time.Millisecond
)

// newQueue holds the names of Nodes, those that are urgent first: nobody can use a Node before it is initialised.
func newQueue(urgent func(name string) bool) workqueue.TypedRateLimitingInterface[string] {
	const name = "Nodes" // the library's, and so that of its metrics
	return workerpool.Queue(name, &line{urgent: urgent}, workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay))
}

// line is what workqueue keeps its items in, under its own lock. What is urgent does not starve the rest: it comes again only after a
// pause.
type line struct {
	urgent      func(string) bool
	first, rest []string
}

// Touch implements workqueue.Queue: an item that waits keeps its place.
func (l *line) Touch(string) {}

// Push implements workqueue.Queue.
func (l *line) Push(item string) {
	if l.urgent(item) {
		l.first = append(l.first, item)
		return
	}
	l.rest = append(l.rest, item)
}

// Len implements workqueue.Queue.
func (l *line) Len() int { return len(l.first) + len(l.rest) }

// Pop implements workqueue.Queue: it is only called when there is an item.
func (l *line) Pop() string {
	from := &l.first
	if len(l.first) == 0 {
		from = &l.rest
	}
	item := (*from)[0]
	*from = (*from)[1:]
	return item
}
