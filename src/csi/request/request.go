// Package request has what all services of the CSI driver do with requests before they look at the volume.
package request

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Required returns an InvalidArgument error for a field that is empty.
func Required(field, value string) error {
	if value == "" {
		return status.Errorf(codes.InvalidArgument, "%s is missing", field)
	}
	return nil
}

// Busy contains the objects that requests work on. The zero value is ready for use. It is safe for concurrent use.
type Busy struct{ objects sync.Map }

// Working reports whether a request works on an object.
func (b *Busy) Working(object string) bool {
	_, busy := b.objects.Load(object)
	return busy
}

// Begin marks an object, like "volume v-1"; the returned function ends that. The error is Aborted if another request
// works on it: callers repeat a request whose deadline has passed, even if the first one has not ended yet.
func (b *Busy) Begin(object string) (end func(), err error) {
	if _, busy := b.objects.LoadOrStore(object, true); busy {
		return nil, status.Errorf(codes.Aborted, "another request for %s has not ended yet; it is retried", object)
	}
	return func() { b.objects.Delete(object) }, nil
}
