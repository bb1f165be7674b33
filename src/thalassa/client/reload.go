package client

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// ForConfig returns a client for the cloud of a cloud-config. agent is the user agent; network carries the calls, and
// nil is the default transport. The error is that the CA bundle contains no certificate.
func ForConfig(c cloudconfig.Config, secrets secret.Secrets, agent string, network http.RoundTripper) (*Client, error) {
	return New(Options{
		Endpoint: c.Endpoint, Organisation: c.Organisation, Project: c.Project, Insecure: c.Insecure,
		UserAgent: agent, Secrets: secrets, Network: network,
		CallTimeout: c.API.Timeout(), Rate: c.API.RequestsPerSecond, Burst: c.API.Burst,
	})
}

// reloadPeriod is how often files with secrets are read. The kubelet takes longer to update a Secret.
const reloadPeriod = 10 * time.Second

// NewReloader returns a reloader that adopts the secrets that read returns; current are in use, and events are about
// the object.
func NewReloader(current secret.Secrets, read func() (secret.Secrets, error),
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
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrThrottled) ||
		errors.Is(err, ErrMalformed)
}
