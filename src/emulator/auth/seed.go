package auth

import (
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
