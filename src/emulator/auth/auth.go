// Package auth provides the credentials of the cloud: personal access tokens, clients, service accounts, and the bearer
// tokens
// that they are exchanged for.
package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// defaultTokenLifetime is the life of bearer tokens of the real service.
const defaultTokenLifetime = time.Hour

// Organisation is an organisation that credentials can give access to.
type Organisation struct {
	Identity, Slug string
	// CheckProject returns an error if the organisation does not have a project, named by identity or slug.
	CheckProject func(ref string) error
	// Directory passes the service accounts of the organisation, which can change at any time. They are locked
	// meanwhile.
	Directory func(read func(*iam.Directory))
}

// Principal is who sent a request, and what for.
type Principal struct {
	Subject       string
	Organisations []*Organisation
	// Scopes of a bearer token for a federated identity are those that it was limited to. What else limits it are the
	// scopes that the identity has when the token is used.
	Scopes Scopes
	// Project is the claim that binds a token to a project; usually empty.
	Project string
	// credential and federated are the identities of the access credential or the federated identity that a bearer
	// token was issued for. It is valid only as long as that is. A token of a client has neither.
	credential, federated string
}

// current returns the scopes now, and whether what the bearer token was issued for is still valid.
func (p Principal) current(d *iam.Directory, now time.Time) (Scopes, bool) {
	if p.federated != "" {
		texts, valid := d.ScopesOf(p.federated, now)
		return p.Scopes.among(texts), valid
	}
	return p.Scopes, d.Holds(p.credential, now)
}

// client may fetch bearer tokens.
type client struct {
	secret string
	Principal
}

type bearer struct {
	Principal
	expires time.Time
}

// Authenticator has all credentials.
type Authenticator struct {
	lifetime time.Duration
	// organisations never change, but their directories do.
	organisations []*Organisation
	// issuer signs the tokens of the emulator's own identity provider.
	issuer issuer

	// mu guards the rest, which can change at run time.
	mu      sync.Mutex
	tokens  map[string]Principal
	clients map[string]client
	bearers map[string]bearer
}

// New makes an authenticator with the credentials of a seed. The organisations are those of the seed, in its order.
func New(in seed.Seed, orgs []*Organisation, lifetime time.Duration) (*Authenticator, error) {
	if lifetime == 0 {
		lifetime = defaultTokenLifetime
	}
	own, err := newIssuer(in.IdentityProviderKey)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", seed.At("identityProviderKey", err))
	}
	g := &Authenticator{
		lifetime: lifetime, issuer: own, organisations: orgs, tokens: map[string]Principal{},
		clients: map[string]client{}, bearers: map[string]bearer{},
	}
	if err := g.populate(in); err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	return g, nil
}

// addToken makes a personal access token good for one more organisation. It has the same rights in all of them.
func (g *Authenticator) addToken(org *Organisation, token string, limit Scopes) error {
	if token == "" {
		return errors.New("field \"token\" is required")
	}
	owner, found := g.tokens[token]
	if found && !owner.Scopes.equal(limit) {
		return errors.New("the personal access token exists with other scopes; revoke it, or use another token")
	}
	g.tokens[token] = Principal{Subject: "personal-access-token", Organisations: owner.with(org), Scopes: limit}
	return nil
}

func (g *Authenticator) addClient(org *Organisation, c seed.Client) error {
	if c.ID == "" || c.Secret == "" {
		return errors.New("fields \"id\" and \"secret\" are required")
	}
	limit, err := parseScopes(c.Scopes)
	if err != nil {
		return seed.At("scopes", err)
	}
	if err := org.CheckProject(c.Project); err != nil {
		return seed.At("project", err)
	}
	owner, found := g.clients[c.ID]
	if found && (owner.secret != c.Secret || owner.Project != c.Project || !owner.Scopes.equal(limit)) {
		return errors.New("another organisation has this client with another secret, project or scopes; use another id")
	}
	g.clients[c.ID] = client{c.Secret, Principal{
		Subject: c.ID, Organisations: owner.with(org), Scopes: limit, Project: c.Project,
	}}
	return nil
}

// with are the organisations of a principal and one more.
func (p Principal) with(org *Organisation) []*Organisation {
	if slices.Contains(p.Organisations, org) {
		return p.Organisations
	}
	return append(slices.Clone(p.Organisations), org)
}

// Authenticate finds out who sent a request.
func (g *Authenticator) Authenticate(r *http.Request) (Principal, error) {
	header := r.Header.Get("Authorization")
	scheme, credential, _ := strings.Cut(header, " ")
	switch {
	case header == "":
		return Principal{},
			apierror.Unauthorised("no Authorization header; send `Token <personal access token>` or `Bearer <access " +
				"token>`")
	case scheme == "Token":
		return g.personal(credential)
	case strings.EqualFold(scheme, "Bearer"):
		return g.bearer(credential)
	case strings.EqualFold(scheme, "Basic"):
		return g.basic(r)
	}
	return Principal{}, apierror.Unauthorised("authorization scheme %q is not supported; use Token, Bearer or Basic",
		scheme)
}

func (g *Authenticator) personal(token string) (Principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	user, found := g.tokens[token]
	if !found {
		return Principal{}, apierror.Unauthorised("the personal access token is not valid")
	}
	return user, nil
}

func (g *Authenticator) bearer(token string) (Principal, error) {
	g.mu.Lock()
	issued, found := g.bearers[token]
	g.mu.Unlock()
	if !found {
		return Principal{}, apierror.Unauthorised("the bearer token is not valid; get one from /oidc/token")
	}
	if !time.Now().Before(issued.expires) {
		return Principal{}, apierror.Unauthorised("the bearer token expired at %s",
			issued.expires.UTC().Format(time.RFC3339))
	}
	if issued.credential == "" && issued.federated == "" {
		return issued.Principal, nil
	}
	user, valid := issued.Principal, false
	user.Organisations[0].Directory(func(d *iam.Directory) { user.Scopes, valid = user.current(d, time.Now()) })
	if !valid {
		return Principal{}, apierror.Unauthorised("the credentials of the bearer token are not valid " +
			"any more")
	}
	return user, nil
}

func (g *Authenticator) basic(r *http.Request) (Principal, error) {
	id, secret, _ := r.BasicAuth()
	if user, found := g.user(id, secret); found {
		return user, nil
	}
	return Principal{}, apierror.Unauthorised("the basic credentials are not those of a client")
}

// client finds a client by its credentials. In the Basic header of a token
// request they are form-encoded (RFC 6749, section 2.3.1), or not, as clients
// differ; the plain reading goes first.
func (g *Authenticator) client(id, secret string) (client, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, found := g.clients[id]; found && c.secret == secret {
		return c, true
	}
	plainID, errID := url.QueryUnescape(id)
	plainSecret, errSecret := url.QueryUnescape(secret)
	if c, found := g.clients[plainID]; found && errID == nil && errSecret == nil && c.secret == plainSecret {
		return c, true
	}
	return client{}, false
}

// user finds a client, or an access credential of a service account.
func (g *Authenticator) user(id, secret string) (Principal, bool) {
	if c, found := g.client(id, secret); found {
		return c.Principal, true
	}
	return g.account(id, secret)
}

// account finds an access credential of a service account.
func (g *Authenticator) account(key, secret string) (user Principal, found bool) {
	for _, org := range g.organisations {
		var credential iam.AccessCredential
		org.Directory(func(d *iam.Directory) { credential, found = d.Credential(key, secret, time.Now()) })
		if found {
			return Principal{
				Subject: credential.Account, Organisations: []*Organisation{org}, Scopes: credential.Scopes,
				credential: credential.Identity,
			}, true
		}
	}
	return Principal{}, false
}

// Organisation is the identity of the organisation that a request is for: the one its header names by
// identity or slug, or the only one that its sender belongs to.
func (p Principal) Organisation(ref string) (string, error) {
	if ref == "" && len(p.Organisations) == 1 {
		return p.Organisations[0].Identity, nil
	}
	if ref == "" {
		return "",
			apierror.Invalid("header X-Organisation-Identity is missing, and these credentials are good for %d "+
				"organisations", len(p.Organisations))
	}
	for _, org := range p.Organisations {
		if ref == org.Identity || ref == org.Slug {
			return org.Identity, nil
		}
	}
	return "", apierror.Forbidden("these credentials give no access to organisation %q", ref)
}
