package emulator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// defaultTokenLifetime is the life of bearer tokens of the real service.
const defaultTokenLifetime = time.Hour

// principal is who sent a request, and what for.
type principal struct {
	subject       string
	organisations []*organisation
	scopes        scopes
	// project is the claim that binds a token to a project; usually empty.
	project string
}

// client may fetch bearer tokens.
type client struct {
	secret string
	principal
}

type bearer struct {
	principal
	expires time.Time
}

// guard knows all credentials.
type guard struct {
	lifetime time.Duration
	// organisations never change, nor do their service accounts.
	organisations []*organisation
	// issuer signs the tokens of the emulator's own identity provider.
	issuer *ecdsa.PrivateKey

	// mu guards the rest, which can change at run time.
	mu      sync.Mutex
	tokens  map[string]principal
	clients map[string]client
	bearers map[string]bearer
}

func newGuard(in seed.Seed, s *store, lifetime time.Duration) (*guard, error) {
	if lifetime == 0 {
		lifetime = defaultTokenLifetime
	}
	issuer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the emulator's identity provider: %w", err)
	}
	// Seeds and stores list organisations in the same order.
	orgs := slices.Collect(s.organisations.all())
	g := &guard{
		lifetime: lifetime, issuer: issuer, organisations: orgs, tokens: map[string]principal{},
		clients: map[string]client{}, bearers: map[string]bearer{},
	}
	for i, o := range in.Organisations {
		for _, token := range o.PersonalAccessTokens {
			g.addToken(orgs[i], token, nil)
		}
		for _, c := range o.Clients {
			if err := g.addClient(orgs[i], c); err != nil {
				return nil, fmt.Errorf("seed organisation %q: client %q: %w", o.Name, c.ID, err)
			}
		}
		for _, account := range o.ServiceAccounts {
			if err := g.addAccount(orgs[i], account); err != nil {
				return nil, fmt.Errorf("seed organisation %q: service account %q: %w", o.Name, account.Name, err)
			}
		}
	}
	return g, nil
}

// addToken makes a personal access token good for one more organisation.
func (g *guard) addToken(org *organisation, token string, limit scopes) {
	owner := g.tokens[token]
	g.tokens[token] = principal{
		subject: "personal-access-token", organisations: append(slices.Clone(owner.organisations), org), scopes: limit,
	}
}

func (g *guard) addClient(org *organisation, c seed.Client) error {
	limit, err := parseScopes(c.Scopes)
	if err != nil {
		return err
	}
	if err := org.checkProject(c.Project); err != nil {
		return err
	}
	owner := g.clients[c.ID]
	g.clients[c.ID] = client{c.Secret, principal{
		subject: c.ID, organisations: append(owner.organisations, org), scopes: limit, project: c.Project,
	}}
	return nil
}

// authenticate finds out who sent a request.
func (g *guard) authenticate(r *http.Request) (principal, error) {
	header := r.Header.Get("Authorization")
	scheme, credential, _ := strings.Cut(header, " ")
	switch {
	case header == "":
		return principal{}, unauthorised("no Authorization header; send `Token <personal access token>` or `Bearer <access token>`")
	case scheme == "Token":
		return g.personal(credential)
	case strings.EqualFold(scheme, "Bearer"):
		return g.bearer(credential)
	case strings.EqualFold(scheme, "Basic"):
		return g.basic(r)
	}
	return principal{}, unauthorised("authorization scheme %q is not supported; use Token, Bearer or Basic", scheme)
}

func (g *guard) personal(token string) (principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	user, found := g.tokens[token]
	if !found {
		return principal{}, unauthorised("the personal access token is not valid")
	}
	return user, nil
}

func (g *guard) bearer(token string) (principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	issued, found := g.bearers[token]
	if !found {
		return principal{}, unauthorised("the bearer token is not valid; get one from /oidc/token")
	}
	if !time.Now().Before(issued.expires) {
		return principal{}, unauthorised("the bearer token expired at %s", issued.expires.UTC().Format(time.RFC3339))
	}
	return issued.principal, nil
}

func (g *guard) basic(r *http.Request) (principal, error) {
	id, secret, _ := r.BasicAuth()
	if c, found := g.client(id, secret); found {
		return c.principal, nil
	}
	return principal{}, unauthorised("the basic credentials are not those of a client")
}

// client finds a client by its credentials. In the Basic header of a token
// request they are form-encoded (RFC 6749, section 2.3.1), or not, as clients
// differ; the plain reading goes first.
func (g *guard) client(id, secret string) (client, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, found := g.clients[id]; found && c.secret == secret {
		return c, true
	}
	plainID, errID := url.QueryUnescape(id)
	plainSecret, errSecret := url.QueryUnescape(secret)
	c, found := g.clients[plainID]
	return c, found && errID == nil && errSecret == nil && c.secret == plainSecret
}

// organisation picks the one that a request is for: the one its header names by
// identity or slug, or the only one that its sender belongs to.
func (p principal) organisation(ref string) (*organisation, error) {
	if ref == "" && len(p.organisations) == 1 {
		return p.organisations[0], nil
	}
	if ref == "" {
		return nil, invalid("header X-Organisation-Identity is missing, and these credentials are good for %d organisations", len(p.organisations))
	}
	for _, org := range p.organisations {
		if ref == org.Identity || ref == org.Slug {
			return org, nil
		}
	}
	return nil, forbidden("these credentials give no access to organisation %q", ref)
}
