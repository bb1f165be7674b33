package controller

import (
	"context"
	"errors"

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

// retriedByProvisioner returns the error of a creation with a code after which sidecars send the request again:
// credentials may have been refused after an earlier request has created the object, and a sidecar that forgets it
// would leak it.
func retriedByProvisioner(err error) error {
	if code := status.Code(err); code == codes.PermissionDenied {
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
