package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/kubeconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
)

// reloadPeriod is how often the kubeconfig and the files that it refers to are read.
const reloadPeriod = 30 * time.Second

// Reloader returns what exchanges the credentials and certificates of the client when the kubeconfig, or a file that it
// refers to, changes. Current is in use, and read returns the present content of the files. New ones are tried with one
// request for the Network with that name. Events are about the object; nil: there are none.
func (c *Client) Reloader(current kubeconfig.Access, read func() (kubeconfig.Access, error), network string,
	about *corev1.ObjectReference) *reload.Reloader[kubeconfig.Access] {
	return reload.New(reload.Options[kubeconfig.Access]{
		Cloud: "ironcore", Current: current, Period: reloadPeriod, Read: read, Same: kubeconfig.Same,
		Untried: untried, Describe: kubeconfig.Access.String, About: about,
		Adopt: func(ctx context.Context, access kubeconfig.Access) error {
			if access.Namespace != c.Namespace {
				return fmt.Errorf("the namespace has changed from %s to %s: restart the program to use it", c.Namespace,
					access.Namespace)
			}
			return c.Adopt(ctx, access.Config, func(ctx context.Context) error { return c.Probe(ctx, network) })
		},
	})
}

// untried reports whether the error of a trial is that the API does not answer, so that it has not refused the
// credentials, and its certificate is not refused either.
func untried(err error) bool {
	if refusal, ok := errors.AsType[*apierrors.StatusError](err); ok {
		code := refusal.ErrStatus.Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, sent := errors.AsType[*url.Error](err)
	return sent && !unverified && !alert
}
