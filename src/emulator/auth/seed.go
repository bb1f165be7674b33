package auth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// issuer is an identity provider of the emulator's own.
type issuer struct {
	*ecdsa.PrivateKey
	// text is the key as seeds have it.
	text string
}

// newIssuer makes an issuer with the private key of a seed, or with a new one.
func newIssuer(text string) (issuer, error) {
	if text == "" {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return issuer{}, fmt.Errorf("making it: %w", err)
		}
		content, err := x509.MarshalPKCS8PrivateKey(key)
		return issuer{key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: content}))}, err
	}
	key, err := parseKey(text)
	return issuer{key, text}, err
}

// parseKey reads a key for ES256 in PEM.
func parseKey(text string) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, fits := key.(*ecdsa.PrivateKey)
	if !fits || private.Curve != elliptic.P256() {
		return nil, errors.New("it is not a key for ES256, on the curve P-256")
	}
	return private, nil
}

// populate adds the credentials of a seed, or returns the first error.
func (g *Authenticator) populate(in seed.Seed) error {
	return cmp.Or(
		seed.EachIndexed("organisations", "organisation", in.Organisations,
			func(i int, o *seed.Organisation) (string, error) {
				return o.Name, g.addCredentials(g.organisations[i], o)
			}),
		seed.Each("bearerTokens", "bearer token", in.BearerTokens,
			func(t *seed.BearerToken) (string, error) { return "", g.addBearer(*t) }),
	)
}

// addCredentials adds the credentials of an organisation. Errors do not contain them.
func (g *Authenticator) addCredentials(org *Organisation, in *seed.Organisation) error {
	return cmp.Or(
		seed.Each("personalAccessTokens", "personal access token", in.PersonalAccessTokens,
			func(token *string) (string, error) {
				if *token == "" {
					return "", errors.New("a token must not be empty")
				}
				return "", g.addToken(org, *token, nil)
			}),
		seed.Each("tokens", "personal access token", in.Tokens, func(t *seed.Token) (string, error) {
			limit, err := parseScopes(t.Scopes)
			if err != nil {
				return "", seed.At("scopes", err)
			}
			return "", g.addToken(org, t.Token, limit)
		}),
		seed.Each("clients", "client", in.Clients,
			func(c *seed.Client) (string, error) { return c.ID, g.addClient(org, *c) }),
	)
}

func (g *Authenticator) addBearer(in seed.BearerToken) error {
	limit, err := parseScopes(in.Scopes)
	if err != nil {
		return err
	}
	if in.Token == "" || len(in.Organisations) == 0 {
		return errors.New("fields \"token\" and \"organisations\" are required")
	}
	user := Principal{Subject: in.Subject, Scopes: limit, Project: in.Project, credential: in.AccessCredential,
		federated: in.FederatedIdentity}
	for _, ref := range in.Organisations {
		org := g.named(ref)
		if org == nil {
			return fmt.Errorf("organisation %q does not exist", ref)
		}
		user.Organisations = append(user.Organisations, org)
	}
	g.bearers[in.Token] = bearer{user, in.ExpiresAt}
	return nil
}

// Describe adds the credentials to a seed with the organisations of the store, in its order.
func (g *Authenticator) Describe(out *seed.Seed) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out.IdentityProviderKey = g.issuer.text
	out.BearerTokens = g.describeBearers(time.Now())
	for i, org := range g.organisations {
		described := &out.Organisations[i]
		for _, token := range slices.Sorted(maps.Keys(g.tokens)) {
			owner := g.tokens[token]
			switch {
			case !slices.Contains(owner.Organisations, org):
			case owner.Scopes == nil:
				described.PersonalAccessTokens = append(described.PersonalAccessTokens, token)
			default:
				described.Tokens = append(described.Tokens, seed.Token{Token: token, Scopes: seed.Scopes(owner.Scopes)})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(g.clients)) {
			if c := g.clients[id]; slices.Contains(c.Organisations, org) {
				described.Clients = append(described.Clients, seed.Client{ID: id, Secret: c.secret,
					Scopes: seed.Scopes(c.Scopes), Project: c.Project})
			}
		}
	}
}

// describeBearers are the tokens that are still valid.
func (g *Authenticator) describeBearers(now time.Time) (out []seed.BearerToken) {
	for _, token := range slices.Sorted(maps.Keys(g.bearers)) {
		b := g.bearers[token]
		if !now.Before(b.expires) {
			continue
		}
		described := seed.BearerToken{Token: token, ExpiresAt: b.expires, Subject: b.Subject,
			Scopes: seed.Scopes(b.Scopes), Project: b.Project, AccessCredential: b.credential,
			FederatedIdentity: b.federated}
		for _, org := range b.Organisations {
			described.Organisations = append(described.Organisations, org.Identity)
		}
		out = append(out, described)
	}
	return out
}
