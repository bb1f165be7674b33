package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// AddToken makes a personal access token good for an organisation, named by
// identity or slug. Scopes limit it; none means no limit.
func (e *Emulator) AddToken(organisation, token string, scopes ...string) error {
	org, err := e.organisation(organisation)
	if err != nil {
		return fmt.Errorf("adding a token: %w", err)
	}
	limit, err := parseScopes(scopes)
	if err == nil && token == "" {
		err = errors.New("the token is empty")
	}
	if err != nil {
		return fmt.Errorf("adding a token: %w", err)
	}
	e.guard.mu.Lock()
	defer e.guard.mu.Unlock()
	e.guard.addToken(org, token, limit)
	return nil
}

// RevokeTokens makes personal access tokens and bearer tokens invalid: the given
// ones, or all personal access tokens. Unknown ones are ignored.
func (e *Emulator) RevokeTokens(tokens ...string) {
	e.guard.mu.Lock()
	defer e.guard.mu.Unlock()
	if len(tokens) == 0 {
		clear(e.guard.tokens)
	}
	for _, token := range tokens {
		delete(e.guard.tokens, token)
		delete(e.guard.bearers, token)
	}
}

// ExpireBearers makes all bearer tokens issued so far expire now.
func (e *Emulator) ExpireBearers() {
	e.guard.mu.Lock()
	defer e.guard.mu.Unlock()
	now := time.Now()
	for token, b := range e.guard.bearers {
		if b.expires.After(now) {
			b.expires = now
			e.guard.bearers[token] = b
		}
	}
}

// SetClientSecret replaces the secret of a client. Its bearer tokens stay good.
func (e *Emulator) SetClientSecret(id, secret string) error {
	e.guard.mu.Lock()
	defer e.guard.mu.Unlock()
	c, found := e.guard.clients[id]
	switch {
	case !found:
		return fmt.Errorf("setting a client's secret: %w", &problem{http.StatusNotFound, fmt.Sprintf("client %q does not exist", id)})
	case secret == "":
		return errors.New("setting a client's secret: the secret is empty")
	}
	c.secret = secret
	e.guard.clients[id] = c
	return nil
}

// organisation finds an organisation by identity or slug; an empty reference
// means the first.
func (e *Emulator) organisation(ref string) (*organisation, error) {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	for first := range e.store.organisations.all() {
		if ref == "" {
			return first, nil
		}
	}
	if org, found := e.store.organisations.find(ref); found {
		return org, nil
	}
	return nil, &problem{http.StatusNotFound, fmt.Sprintf("organisation %q does not exist", ref)}
}

func (e *Emulator) credentialRoutes() {
	e.mux.HandleFunc("POST /_emulator/subject-tokens", func(w http.ResponseWriter, r *http.Request) {
		in, err := instruction[struct{ ServiceAccount, Subject, Audience, TTL string }](r)
		var token string
		if err == nil {
			token, err = e.subjectToken(in.ServiceAccount, in.Subject, in.Audience, in.TTL)
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

func (e *Emulator) subjectToken(account, subject, audience, ttl string) (string, error) {
	var life time.Duration
	if ttl != "" {
		var err error
		if life, err = time.ParseDuration(ttl); err != nil {
			return "", invalid("field \"ttl\": %v", err)
		}
	}
	return e.SubjectToken(account, subject, audience, life)
}

// instruction reads the body of a request to the admin API; an empty one reads
// like {}. Unknown keys are errors.
func instruction[T any](r *http.Request) (T, error) {
	var in T
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return in, invalid("reading the request body: %v", err)
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
		e.sendJSON(w, status, body)
		return
	}
	status = http.StatusBadRequest
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.status
	}
	e.sendJSON(w, status, map[string]string{"message": err.Error()})
}
