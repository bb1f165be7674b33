package emulator

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// defaultTokenLifetime is the life of bearer tokens of the real service.
const defaultTokenLifetime = time.Hour

// principal is who sent a request.
type principal struct {
	subject       string
	organisations []*organisation
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
	// tokens and clients never change after the start.
	tokens  map[string]principal
	clients map[string]client

	mu      sync.Mutex
	bearers map[string]bearer
}

func newGuard(seed Seed, s *store, lifetime time.Duration) *guard {
	if lifetime == 0 {
		lifetime = defaultTokenLifetime
	}
	g := &guard{
		lifetime: lifetime, tokens: map[string]principal{},
		clients: map[string]client{}, bearers: map[string]bearer{},
	}
	// Seeds and stores list organisations in the same order.
	orgs := slices.Collect(s.organisations.all())
	for i, o := range seed.Organisations {
		for _, token := range o.PersonalAccessTokens {
			owner := g.tokens[token]
			g.tokens[token] = principal{"personal-access-token", append(owner.organisations, orgs[i])}
		}
		for _, c := range o.Clients {
			owner := g.clients[c.ID]
			g.clients[c.ID] = client{c.Secret, principal{c.ID, append(owner.organisations, orgs[i])}}
		}
	}
	return g
}

// authenticate finds out who sent a request.
func (g *guard) authenticate(r *http.Request) (principal, error) {
	header := r.Header.Get("Authorization")
	scheme, credential, _ := strings.Cut(header, " ")
	switch {
	case header == "":
		return principal{}, unauthorised("no Authorization header; send `Token <personal access token>` or `Bearer <access token>`")
	case scheme == "Token":
		return known(g.tokens, credential, "personal access token")
	case strings.EqualFold(scheme, "Bearer"):
		return g.bearer(credential)
	case strings.EqualFold(scheme, "Basic"):
		return g.basic(r)
	}
	return principal{}, unauthorised("authorization scheme %q is not supported; use Token, Bearer or Basic", scheme)
}

func known(tokens map[string]principal, token, kind string) (principal, error) {
	user, found := tokens[token]
	if !found {
		return principal{}, unauthorised("the %s is not valid", kind)
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
	if c, found := g.clients[id]; found && c.secret == secret {
		return c.principal, nil
	}
	return principal{}, unauthorised("the basic credentials are not those of a client")
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

// token is POST /oidc/token: the client credentials grant, with the client
// authenticated by a Basic header or by form fields.
func (e *Emulator) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		e.refuseToken(w, http.StatusBadRequest, "invalid_request", "the body is not a form: "+err.Error())
		return
	}
	if grant := r.PostForm.Get("grant_type"); grant != "client_credentials" {
		e.refuseToken(w, http.StatusBadRequest, "unsupported_grant_type",
			"grant_type is "+grant+"; this emulator supports client_credentials")
		return
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	c, found := e.guard.clients[id]
	if !found || c.secret != secret {
		e.refuseToken(w, http.StatusUnauthorized, "invalid_client", "unknown client, or wrong secret")
		return
	}
	e.sendJSON(w, http.StatusOK, wire.Token{
		AccessToken: e.guard.issue(c.principal), Type: "Bearer",
		ExpiresIn: int(e.guard.lifetime / time.Second),
	})
}

// issue makes a bearer token and forgets those that expired.
func (g *guard) issue(user principal) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for token, b := range g.bearers {
		// An expired token is kept for a while, for a better error message.
		if now.After(b.expires.Add(g.lifetime)) {
			delete(g.bearers, token)
		}
	}
	token := rand.Text()
	g.bearers[token] = bearer{user, now.Add(g.lifetime)}
	return token
}

func (e *Emulator) refuseToken(w http.ResponseWriter, status int, code, description string) {
	e.sendJSON(w, status, wire.TokenError{Code: code, Description: description})
}

func (e *Emulator) sendJSON(w http.ResponseWriter, status int, body any) {
	if err := e.send(w, reply{status: status, body: body}); err != nil {
		e.log.Debug("client went away", "error", err)
	}
}
