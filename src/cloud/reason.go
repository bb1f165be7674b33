package cloud

import (
	"errors"
	"math"
	"time"
)

// Reason is an error that states when to try again, and whether the owner of the Service knows of it. Without one, a
// failure becomes an event, and the pauses between the attempts grow.
type Reason struct {
	// Err is what prevents the desired state.
	Err error
	// Until is the time after which the next attempt is made; [ServiceChanges] if only a change of the Service can end
	// the reason; 0 if it is not known.
	Until time.Duration
	// Reported means that no event is necessary: the notices of the comparison contain the reason, or the cloud is only
	// busy.
	Reported bool
}

// ServiceChanges means that there is no further attempt before the Service changes.
const ServiceChanges time.Duration = math.MaxInt64

// Busy is the reason while the cloud has not finished something. It is no failure.
func Busy(message string, until time.Duration) Reason {
	return Reason{Err: errors.New(message), Until: until, Reported: true}
}

// Error implements error.
func (r Reason) Error() string { return r.Err.Error() }

// Unwrap returns what prevents the desired state.
func (r Reason) Unwrap() error { return r.Err }

// ReasonOf returns the first Reason that an error contains; if there is none, one of the error alone.
func ReasonOf(err error) Reason {
	if reason, found := errors.AsType[Reason](err); found {
		return reason
	}
	return Reason{Err: err}
}

// Lasts reports whether only a change of the Service can end the reason.
func (r Reason) Lasts() bool { return r.Until == ServiceChanges }

// Waits reports whether the cloud is only busy, so that the error is no failure.
func (r Reason) Waits() bool { return r.Reported && r.Until > 0 && !r.Lasts() }
