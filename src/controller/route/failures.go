package route

import (
	"maps"
	"sync"
	"time"
)

// Delays after failures: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// failure is why a write failed, and when it is retried. The zero failure is none.
type failure struct {
	err   error
	until time.Time
	delay time.Duration // the latest one
	tries int           // without those that were not made because the table refused others
}

// wait is the time until the retry.
func (f failure) wait() time.Duration { return max(0, time.Until(f.until)) }

// failures are the writes of routes that failed. It is safe for concurrent use.
type failures struct {
	mu sync.Mutex
	of map[routeKey]failure
}

// get is the failure of a write.
func (f *failures) get(key routeKey) failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[key]
}

// add records a failure, and returns the delay, which is twice the one before.
func (f *failures) add(key routeKey, err error, tries int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[routeKey]failure{}
	}
	delay := min(max(2*f.of[key].delay, minRetryDelay), maxRetryDelay)
	f.of[key] = failure{err, time.Now().Add(delay), delay, f.of[key].tries + tries}
	return delay
}

// retryNow ends all delays.
func (f *failures) retryNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, one := range f.of {
		one.until = time.Time{}
		f.of[key] = one
	}
}

// clear removes the record of a write.
func (f *failures) clear(key routeKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, key)
}

// retain removes the records of writes that are not planned any more.
func (f *failures) retain(planned map[routeKey]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.of, func(key routeKey, _ failure) bool { return !planned[key] })
}
