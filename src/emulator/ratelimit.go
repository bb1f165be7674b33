package emulator

import (
	"net/http"

	"golang.org/x/time/rate"
)

// limited answers 429 to requests beyond Switches.RequestsPerSecond. One second
// later there is room for as many again, which is what Retry-After says.
func (e *Emulator) limited(next http.Handler) http.Handler {
	if e.limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.limiter.Allow() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		e.sendJSON(w, http.StatusTooManyRequests, map[string]string{"message": "too many requests; come back in a second"})
	})
}

// newLimiter is nil without a limit.
func newLimiter(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}
