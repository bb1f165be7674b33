package auth

import (
	"errors"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// GrantToken makes a personal access token good for an organisation, with the rights of the scopes.
func (g *Authenticator) GrantToken(organisation, token string, texts []string) error {
	limit, err := parseScopes(texts)
	if err != nil {
		return err
	}
	if token == "" {
		return errors.New("the token is empty")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.organisations, func(org *Organisation) bool { return org.Identity == organisation })
	return g.addToken(g.organisations[i], token, limit)
}

// Revoke makes personal access tokens and bearer tokens invalid: the given ones, or all personal access tokens.
func (g *Authenticator) Revoke(tokens []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(tokens) == 0 {
		clear(g.tokens)
	}
	for _, token := range tokens {
		delete(g.tokens, token)
		delete(g.bearers, token)
	}
}

// ExpireBearers makes all bearer tokens issued so far expire now.
func (g *Authenticator) ExpireBearers() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for token, b := range g.bearers {
		if b.expires.After(now) {
			b.expires = now
			g.bearers[token] = b
		}
	}
}

// SetClientSecret replaces the secret of a client. Its bearer tokens stay valid.
func (g *Authenticator) SetClientSecret(id, secret string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, found := g.clients[id]
	switch {
	case !found:
		return apierror.Missing("client %q does not exist", id)
	case secret == "":
		return errors.New("the secret is empty")
	}
	c.secret = secret
	g.clients[id] = c
	return nil
}
