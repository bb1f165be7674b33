package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/api"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// EmulatorIssuer is the issuer of SubjectToken's tokens: an identity provider
// that is part of the emulator. Federated identities without keys trust it.
const EmulatorIssuer = iam.IssuerURL

// AddToken makes a personal access token good for an organisation, named by
// identity or slug. Scopes limit it; none means no limit.
func (e *Emulator) AddToken(organisation, token string, scopes ...string) error {
	defer e.api.Events.Changed()
	org, err := e.organisation(organisation)
	if err == nil {
		err = e.api.Auth.GrantToken(org.Identity, token, scopes)
	}
	if err != nil {
		return fmt.Errorf("adding a token: %w", err)
	}
	return nil
}

// RevokeTokens makes personal access tokens and bearer tokens invalid: the given
// ones, or all personal access tokens. Unknown ones are ignored.
func (e *Emulator) RevokeTokens(tokens ...string) {
	defer e.api.Events.Changed()
	e.api.Auth.Revoke(tokens)
}

// ExpireBearers makes all bearer tokens issued so far expire now.
func (e *Emulator) ExpireBearers() {
	defer e.api.Events.Changed()
	e.api.Auth.ExpireBearers()
}

// SetClientSecret replaces the secret of a client. Its bearer tokens stay good.
func (e *Emulator) SetClientSecret(id, secret string) error {
	defer e.api.Events.Changed()
	if err := e.api.Auth.SetClientSecret(id, secret); err != nil {
		return fmt.Errorf("setting a client's secret: %w", err)
	}
	return nil
}

// SubjectToken makes a token of the emulator's own identity provider, for token
// exchange. What is empty comes from the service account (itself: the first
// one): its first federated identity that trusts the emulator, whose conditions
// on other claims it always fulfils. A ttl of zero
// means one hour; with a negative one the token has expired already.
func (e *Emulator) SubjectToken(account, subject, audience string, ttl time.Duration) (string, error) {
	return e.api.Auth.SubjectToken(account, subject, audience, ttl)
}

// organisation finds an organisation by identity or slug; an empty reference
// means the first.
func (e *Emulator) organisation(ref string) (*state.Organisation, error) {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	for first := range e.api.Store.Organisations.All() {
		if ref == "" {
			return first, nil
		}
	}
	if org, found := e.api.Store.Organisations.Find(ref); found {
		return org, nil
	}
	return nil, apierror.Missing("organisation %q does not exist", ref)
}

func (e *Emulator) credentialRoutes() {
	e.mux.HandleFunc("POST /_emulator/subject-tokens", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct{ ServiceAccount, Subject, Audience, TTL string }](r)
		var token string
		if err == nil {
			token, err = e.requestedSubjectToken(in.ServiceAccount, in.Subject, in.Audience, in.TTL)
		}
		e.report(w, http.StatusCreated, map[string]string{"token": token}, err)
	})
	e.mux.HandleFunc("POST /_emulator/tokens", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct {
			Organisation, Token string
			Scopes              []string
		}](r)
		if err == nil {
			err = e.AddToken(in.Organisation, in.Token, in.Scopes...)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
	e.mux.HandleFunc("POST /_emulator/tokens/revoke", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct{ Tokens []string }](r)
		if err == nil {
			e.RevokeTokens(in.Tokens...)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
	e.mux.HandleFunc("POST /_emulator/bearers/expire", func(w http.ResponseWriter, _ *http.Request) {
		e.ExpireBearers()
		w.WriteHeader(http.StatusNoContent)
	})
	e.mux.HandleFunc("PUT /_emulator/clients/{id}", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct{ Secret string }](r)
		if err == nil {
			err = e.SetClientSecret(r.PathValue("id"), in.Secret)
		}
		e.report(w, http.StatusNoContent, nil, err)
	})
}

func (e *Emulator) requestedSubjectToken(account, subject, audience, ttl string) (string, error) {
	var life time.Duration
	if ttl != "" {
		var err error
		if life, err = time.ParseDuration(ttl); err != nil {
			return "", apierror.Invalid("field \"ttl\": %v", err)
		}
	}
	return e.SubjectToken(account, subject, audience, life)
}

// instruction reads the body of a request to the admin API; an empty one reads
// like {}. Unknown keys are errors.
func instruction[T any](r *http.Request) (T, error) {
	var in T
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, api.MaxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return in, apierror.Invalid("reading the request body: %v", err)
	}
	return in, nil
}

// report answers a request to the admin API.
func (e *Emulator) report(w http.ResponseWriter, status int, body any, err error) {
	if err == nil {
		if body == nil {
			w.WriteHeader(status)
			return
		}
		e.api.SendJSON(w, status, body)
		return
	}
	status = http.StatusBadRequest
	if p, ok := errors.AsType[*apierror.Error](err); ok {
		status = p.Status
	}
	e.api.SendJSON(w, status, map[string]string{"message": err.Error()})
}
