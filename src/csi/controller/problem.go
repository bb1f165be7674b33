package controller

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// problemOf returns the error of an action with the code that says to a sidecar whether the action may have been
// carried out: the provisioner forgets a volume after any code but Canceled, DeadlineExceeded, Unavailable and Aborted.
// An error that has a code already does not change.
func problemOf(action string, err error) error {
	if err == nil {
		return nil
	}
	if _, coded := status.FromError(err); coded {
		return err
	}
	return status.Errorf(codeOf(err), "%s: %v", action, err)
}

// unfinished returns the error of something that decides nothing, such as a refused list, with a code after which
// sidecars send the request again. After NotFound, a deletion or detachment would be taken as done. After most other
// codes of a creation, a sidecar would forget an object that exists. AlreadyExists and FailedPrecondition stay: they
// are decisions of package volume.
func unfinished(err error) error {
	final := []codes.Code{codes.PermissionDenied, codes.NotFound, codes.InvalidArgument, codes.ResourceExhausted,
		codes.Internal, codes.Unknown}
	if slices.Contains(final, status.Code(err)) {
		return status.Error(codes.Unavailable, status.Convert(err).Message())
	}
	return err
}

// codeOf returns the code of an error of the cloud.
func codeOf(err error) codes.Code {
	for _, kind := range []struct {
		err  error
		code codes.Code
	}{
		{storage.ErrUncertain, codes.Unavailable},
		{client.ErrQuota, codes.ResourceExhausted},
		{client.ErrThrottled, codes.Unavailable},
		{client.ErrUnavailable, codes.Unavailable},
		{client.ErrMalformed, codes.Unavailable},
		{client.ErrShutdown, codes.Unavailable},
		{client.ErrUnauthorised, codes.PermissionDenied},
		{client.ErrNotFound, codes.NotFound},
		{client.ErrConflict, codes.Aborted},
		{client.ErrBadRequest, codes.InvalidArgument},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
	} {
		if errors.Is(err, kind.err) {
			return kind.code
		}
	}
	return codes.Internal
}
