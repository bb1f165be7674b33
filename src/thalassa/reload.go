package thalassa

import (
	"context"
	"errors"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// reloadPeriod is how often files with secrets are read. The kubelet takes longer to update a Secret.
const reloadPeriod = 10 * time.Second

// newReloader returns a reloader that adopts the secrets that read returns; current are in use, and events are about
// the object.
func newReloader(current secret.Secrets, read func() (secret.Secrets, error),
	adopt func(context.Context, secret.Secrets) error, about *corev1.ObjectReference) *reload.Reloader[secret.Secrets] {
	return reload.New(reload.Options[secret.Secrets]{
		Cloud: "thalassa", Current: current, Period: reloadPeriod, Read: read, Adopt: adopt, Untried: untried,
		Same:     func(a, b secret.Secrets) bool { return reflect.DeepEqual(a, b) },
		Describe: func(s secret.Secrets) string { return s.Credentials.String() },
		About:    about,
	})
}

// untried reports whether the error is that the cloud does not answer.
func untried(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) ||
		errors.Is(err, client.ErrMalformed)
}

// adopt tries secrets and uses them from now on.
func (c *Cloud) adopt(ctx context.Context, secrets secret.Secrets) error {
	return c.client.Adopt(ctx, secrets, func(ctx context.Context, candidate *client.Client) error {
		return inventory.New(candidate, scopeOf(c.config)).ProbeAll(ctx)
	})
}
