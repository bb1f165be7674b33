package route

import (
	"errors"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Delays after failures: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// failureThreshold is the number of consecutive failures, of any kind, after which all writes are taken to fail. A
// table that does not exist any more refuses all writes without an error that says so.
const failureThreshold = 20

// attempt identifies what is retried after a delay: the write of a route, whose verb is empty; the replacement of a
// table; the additions or the removals of a table; or, as the zero value, the comparison of all routes.
//
// The latter two are circuit breakers. A token without the permission to write is refused for each route, and a cloud
// that does not answer fails each write, so a table that refuses everything is not called for every Node. Additions and
// removals have separate ones, because a cloud that refuses new routes may still delete old ones, and the other way
// round.
type attempt struct {
	routeKey
	verb verb
}

// breakersOf are the circuit breakers of an operation, and of the opposite ones in the same table.
func breakersOf(o *operation) (own, opposite attempt) {
	table := routeKey{table: o.table.ID}
	if o.verb == remove {
		return attempt{table, remove}, attempt{table, create}
	}
	return attempt{table, create}, attempt{table, remove}
}

// failure is why an attempt failed, and when it is retried.
type failure struct {
	err    error // nil: it may be made
	until  time.Time
	delay  time.Duration // the latest one
	inARow int           // of a table: consecutive failures, also those after which it is still written
}

// failures are the attempts that failed. It is safe for concurrent use.
type failures struct {
	mu sync.Mutex
	of map[attempt]*failure
}

// get requires mu to be held.
func (f *failures) get(a attempt) *failure {
	if f.of == nil {
		f.of = map[attempt]*failure{}
	}
	if f.of[a] == nil {
		f.of[a] = &failure{}
	}
	return f.of[a]
}

// wait is how long an attempt has to wait, and why it failed; 0 if it may be made.
func (f *failures) wait(a attempt) (delay time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[a]
	if one == nil || time.Until(one.until) <= 0 {
		return 0, nil
	}
	return time.Until(one.until), one.err
}

// refusal is how long the writes to the table of an operation have to wait, and why; 0 if they may be made.
func (f *failures) refusal(o *operation) (delay time.Duration, err error) {
	breaker, _ := breakersOf(o)
	return f.wait(breaker)
}

// refused says whether the latest write like this to the table failed like all others.
func (f *failures) refused(o *operation) bool {
	breaker, _ := breakersOf(o)
	return f.failed(breaker)
}

// failed says whether an attempt failed, so that it is a retry.
func (f *failures) failed(a attempt) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[a] != nil && f.of[a].err != nil
}

// add records a failure, and returns the delay, which is twice the one before.
func (f *failures) add(a attempt, err error) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.get(a).retry(err)
}

func (one *failure) retry(err error) time.Duration {
	one.err, one.delay = err, min(max(2*one.delay, minRetryDelay), maxRetryDelay)
	one.until = time.Now().Add(one.delay)
	return one.delay
}

// retryNow ends the delays of all attempts.
func (f *failures) retryNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.of {
		one.until = time.Time{}
	}
}

// clear removes the record of an attempt.
func (f *failures) clear(a attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, a)
}

// retain removes the records of routes whose writes are not planned any more.
func (f *failures) retain(planned map[routeKey]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for a := range f.of {
		if a.destination.IsValid() && !planned[a.routeKey] {
			delete(f.of, a)
		}
	}
}

// recordTable sets or resets the circuit breakers of a table after a write. An error because the table is full sets
// none: such a table accepts other writes, and a sync tries only one more route.
func (f *failures) recordTable(o *operation, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ownKey, oppositeKey := breakersOf(o)
	own, opposite := f.get(ownKey), f.get(oppositeKey)
	problem, ok := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case errors.Is(err, cloud.ErrStale): // another write may succeed
	case err == nil:
		*own = failure{}
		if opposite.inARow < failureThreshold { // otherwise it was set because of its own failures
			*opposite = failure{inARow: opposite.inARow}
		}
	case ok && problem.ReadOnly:
		own.set(err)
		opposite.set(err)
	case !ok || !problem.TableFull:
		if own.inARow++; own.inARow >= failureThreshold {
			own.set(err)
		}
	}
}

// set makes writes wait. It keeps the first error, because events with another message would be sent again.
func (one *failure) set(err error) {
	switch {
	case one.err == nil:
		one.retry(err)
	case !time.Now().Before(one.until):
		one.retry(one.err)
	}
}
