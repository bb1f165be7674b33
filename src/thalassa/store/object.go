package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// GetOne requests the object with the identity in a collection; exists is false if there is none, or if it is not ours.
func GetOne[Item interface{ ObjectID() string }, T any](ctx context.Context, cloud *client.Client, collection,
	id string, ours func(Item) (T, bool)) (object T, exists bool, err error) {
	item, err := client.Get[Item](ctx, cloud, collection+"/"+id)
	switch {
	case IsGone(err):
		return object, false, nil
	case err != nil:
		return object, false, err
	case item.ObjectID() != id:
		return object, false, fmt.Errorf("reading %s/%s: %w: the answer contains another object, or none; it is "+
			"retried automatically; if the problem persists, ask the cloud's support", collection, id,
			client.ErrMalformed)
	}
	object, exists = ours(item)
	return object, exists, nil
}

// ByID is GetOne for a reference by a user: the API also accepts slugs, so it may return another object, which is
// ignored.
func ByID[Item interface{ ObjectID() string }, T any](ctx context.Context, cloud *client.Client, collection, id string,
	ours func(Item) (T, bool)) (object T, found bool, err error) {
	item, err := client.Get[Item](ctx, cloud, collection+"/"+url.PathEscape(id))
	switch {
	case IsGone(err), err == nil && item.ObjectID() != id:
		return object, false, nil
	case err != nil:
		return object, false, err
	}
	object, found = ours(item)
	return object, found, nil
}

// IsGone reports whether the error says that the object does not exist.
func IsGone(err error) bool { return errors.Is(err, client.ErrNotFound) }

// MayHaveHappened reports whether a write that ended with err may have been carried out, or whether the stores
// contradict it.
func MayHaveHappened(err error) bool {
	return client.Uncertain(err) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrConflict)
}

// RequireIdentity returns an error if a successful answer does not contain the object.
func RequireIdentity(err error, identity, object string) error {
	if err == nil && identity == "" {
		return fmt.Errorf("creating %s: %w: the answer contains no object; the controller checks automatically "+
			"whether it was created; if the problem persists, ask the cloud's support", object, client.ErrMalformed)
	}
	return err
}

// LacksPermission reports whether the credentials lack an optional permission. A cloud may also answer that the object
// does not exist.
func LacksPermission(err error) bool {
	return errors.Is(err, client.ErrUnauthorised) || errors.Is(err, client.ErrNotFound)
}

// WithPermission adds the missing permission to the error of a call: "read security groups".
func WithPermission(err error, right string) error {
	if LacksPermission(err) {
		return fmt.Errorf("%w; the credentials need the permission to %s", err, right)
	}
	return err
}
