// Package secret has what authenticates this program to the cloud. Its values do not show their content when they are
// printed.
package secret

import (
	"fmt"
	"time"
)

// Secrets are what a client needs to get in, and what may change while it works.
type Secrets struct {
	Credentials Credentials
	// CABundle are PEM certificates that are trusted besides the system's; empty: none.
	CABundle []byte
}

// Credentials authenticate the client in one of three forms: a personal access token, an OIDC client with its secret,
// or the exchange of a token that somebody else issued.
type Credentials struct {
	PersonalAccessToken string
	ClientID            string
	ClientSecret        string
	Exchange            *Exchange // nil: one of the other forms
}

// String never shows a secret.
func (c Credentials) String() string {
	switch {
	case c.Exchange != nil:
		return c.Exchange.String()
	case c.PersonalAccessToken != "":
		return "personal access token"
	}
	return fmt.Sprintf("client %q", c.ClientID)
}

// GoString never shows a secret either.
func (c Credentials) GoString() string { return c.String() }

// Exchange gets access tokens for a token that an issuer trusted by the cloud made, like the one of a Kubernetes
// service account (workload identity, RFC 8693).
type Exchange struct {
	ServiceAccount   string        // identity of the cloud's service account
	Organisation     string        // identity
	SubjectTokenFile string        // read for every exchange, because the kubelet renews it
	Lifetime         time.Duration // of access tokens; whole seconds
}

// String names the service account.
func (e *Exchange) String() string {
	return fmt.Sprintf("service account %q of organisation %q", e.ServiceAccount, e.Organisation)
}
