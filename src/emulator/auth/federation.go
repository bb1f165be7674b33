package auth

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// IssuerURL is the issuer of subject tokens: an identity provider
// that is part of the emulator. Federated identities without keys trust it.
const IssuerURL = "https://issuer.emulator.invalid"

// serviceAccount may be used by whom its federated identities trust.
type serviceAccount struct {
	identity, name string
	org            *Organisation
	trusted        []federatedIdentity
}

// Key implements object.Keyed.
func (a *serviceAccount) Key() (identity, slug string) { return a.identity, object.Slugify(a.name) }

// federatedIdentity is somebody known to another issuer.
type federatedIdentity struct {
	issuer, subject string
	audiences       []string
	match           seed.AudienceMatch
	claims          map[string]string
	keys            []jwt.Key
	scopes          Scopes
	project         string
}

func (g *Authenticator) addAccount(org *Organisation, in seed.ServiceAccount) error {
	if in.Name == "" || len(in.FederatedIdentities) == 0 {
		return errors.New("a service account needs a name and at least one federated identity")
	}
	account := &serviceAccount{identity: in.Identity, name: in.Name, org: org}
	if account.identity == "" {
		account.identity = object.NewIdentity("sa")
	}
	for i, f := range in.FederatedIdentities {
		trusted, err := g.federate(org, f)
		if err != nil {
			return fmt.Errorf("federated identity %d: %w", i+1, err)
		}
		account.trusted = append(account.trusted, trusted)
	}
	return object.Insert(g.accounts[org], account)
}

func (g *Authenticator) federate(org *Organisation, in seed.FederatedIdentity) (federatedIdentity, error) {
	trusted := federatedIdentity{
		issuer: in.Issuer, subject: in.Subject, audiences: in.Audiences, match: in.AudienceMatch,
		claims: in.Claims, project: in.Project,
	}
	if trusted.match == "" {
		trusted.match = seed.MatchAny
	}
	if !slices.Contains([]seed.AudienceMatch{seed.MatchExact, seed.MatchAny, seed.MatchAll}, trusted.match) {
		return trusted, fmt.Errorf("audienceMatch is %q; use %q, %q or %q", trusted.match, seed.MatchExact,
			seed.MatchAny, seed.MatchAll)
	}
	if in.Subject == "" || len(in.Audiences) == 0 {
		return trusted, errors.New("a subject and at least one audience are needed")
	}
	if err := org.CheckProject(in.Project); err != nil {
		return trusted, err
	}
	var err error
	if trusted.scopes, err = parseScopes(in.Scopes); err != nil {
		return trusted, err
	}
	if in.Keys == "" && in.Issuer == "" {
		trusted.issuer, trusted.keys = IssuerURL, []jwt.Key{{Public: g.issuer.Public()}}
		return trusted, nil
	}
	if in.Keys == "" || in.Issuer == "" {
		return trusted, errors.New("give the issuer and its keys, or neither to trust the emulator's own tokens")
	}
	trusted.keys, err = jwt.ParseKeys(in.Keys)
	return trusted, err
}

// exchange is the token exchange grant (RFC 8693): a token of another issuer for
// one of ours.
func (g *Authenticator) exchange(form url.Values) (wire.Token, *refusal) {
	for _, field := range []string{"subject_token", "subject_token_type", "organisation_id", "service_account_id"} {
		if strings.TrimSpace(form.Get(field)) == "" {
			return wire.Token{}, badRequest("invalid_request", field+" is missing")
		}
	}
	if kind := form.Get("subject_token_type"); kind != subjectTokenJWT && kind != subjectTokenID {
		return wire.Token{}, badRequest("invalid_request",
			"subject_token_type is "+kind+"; use "+subjectTokenJWT+" or "+subjectTokenID)
	}
	lifetime, refused := tokenLifetime(form.Get("access_token_lifetime"), g.lifetime)
	if refused != nil {
		return wire.Token{}, refused
	}
	organisation, identity := form.Get("organisation_id"), form.Get("service_account_id")
	account, found := g.accountIn(organisation, identity)
	if !found {
		return wire.Token{}, badRequest("invalid_request",
			fmt.Sprintf("service account %q is not known in organisation %q", identity, organisation))
	}
	user, err := account.accept(form.Get("subject_token"), time.Now())
	if err != nil {
		return wire.Token{}, badRequest("invalid_request", "subject_token: "+err.Error())
	}
	issued := g.issue(user, lifetime)
	issued.IssuedType = "urn:ietf:params:oauth:token-type:access_token"
	return issued, nil
}

// accept finds a federated identity that trusts a token. When none does, the
// error says why for each one of the token's issuer.
func (a *serviceAccount) accept(token string, now time.Time) (Principal, error) {
	said, err := jwt.Unverified(token)
	if err != nil {
		return Principal{}, err
	}
	var reasons []string
	for _, trusted := range a.trusted {
		if trusted.issuer != said.Issuer {
			continue
		}
		if err := trusted.check(token, now); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		return Principal{
			Subject: a.identity, Organisations: []*Organisation{a.org}, Scopes: trusted.scopes,
			Project: trusted.project,
		}, nil
	}
	if len(reasons) == 0 {
		return Principal{}, fmt.Errorf("service account %q does not trust issuer %q", a.identity, said.Issuer)
	}
	return Principal{}, errors.New(strings.Join(slices.Compact(reasons), "; or "))
}

func (f *federatedIdentity) check(token string, now time.Time) error {
	claims, err := jwt.Verify(token, f.keys, now)
	if err != nil {
		return err
	}
	if claims.Subject != f.subject {
		return fmt.Errorf("subject %q is not the trusted one, %q", claims.Subject, f.subject)
	}
	if !accepts(f.match, f.audiences, claims.Audience) {
		return fmt.Errorf("audience %q does not match the trusted %q (%s)", claims.Audience, f.audiences, f.match)
	}
	return f.checkClaims(claims.Others)
}

// checkClaims checks the conditions on other claims.
func (f *federatedIdentity) checkClaims(said map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(f.claims)) {
		value, found := claimAt(said, path)
		switch {
		case !found:
			return fmt.Errorf("claim %q is missing, %q is trusted", path, f.claims[path])
		case fmt.Sprint(value) != f.claims[path]:
			return fmt.Errorf("claim %q is \"%v\", %q is trusted", path, value, f.claims[path])
		}
	}
	return nil
}

// claimAt finds a claim by its name, or by the names on the way to it.
func claimAt(claims map[string]any, path string) (value any, found bool) {
	if value, found = claims[path]; found {
		return value, true
	}
	for i, letter := range path {
		inner, nested := claims[path[:i]].(map[string]any)
		if letter != '/' || !nested {
			continue
		}
		if value, found = claimAt(inner, path[i+1:]); found {
			return value, true
		}
	}
	return nil, false
}

// trustedClaims are other claims that fulfil the conditions.
func (f *federatedIdentity) trustedClaims() map[string]any {
	all := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(f.claims)) {
		steps := strings.Split(path, "/")
		last := len(steps) - 1
		within := all
		for _, step := range steps[:last] {
			inner, nested := within[step].(map[string]any)
			if !nested {
				inner = map[string]any{}
				within[step] = inner
			}
			within = inner
		}
		within[steps[last]] = f.claims[path]
	}
	return all
}

// accepts compares the audiences of a token with the trusted ones.
func accepts(m seed.AudienceMatch, trusted, said []string) bool {
	inSaid := func(audience string) bool { return slices.Contains(said, audience) }
	missing := slices.ContainsFunc(trusted, func(audience string) bool { return !inSaid(audience) })
	foreign := slices.ContainsFunc(said, func(audience string) bool { return !slices.Contains(trusted, audience) })
	switch m { //nolint:exhaustive // any is the default
	case seed.MatchExact:
		return !missing && !foreign
	case seed.MatchAll:
		return !missing
	}
	return slices.ContainsFunc(trusted, inSaid)
}

// SubjectToken makes a token of the emulator's own identity provider, see Emulator.SubjectToken.
func (g *Authenticator) SubjectToken(account, subject, audience string, ttl time.Duration) (string, error) {
	owner, err := g.serviceAccount(account)
	if err != nil {
		return "", fmt.Errorf("making a subject token: %w", err)
	}
	i := slices.IndexFunc(owner.trusted, func(f federatedIdentity) bool { return f.issuer == IssuerURL })
	if i < 0 {
		return "",
			fmt.Errorf("making a subject token: service account %q trusts other issuers only; sign with the key of "+
				"one of them", owner.identity)
	}
	audiences := owner.trusted[i].audiences
	if audience != "" {
		audiences = []string{audience}
	}
	if subject == "" {
		subject = owner.trusted[i].subject
	}
	if ttl == 0 {
		ttl = time.Hour
	}
	now := time.Now()
	return jwt.Sign(g.issuer, "", jwt.Claims{
		Issuer: IssuerURL, Subject: subject, Audience: audiences, Expiry: now.Add(ttl), IssuedAt: now,
		Others: owner.trusted[i].trustedClaims(),
	})
}

// accountIn finds a service account of an organisation.
func (g *Authenticator) accountIn(organisation, identity string) (*serviceAccount, bool) {
	for _, org := range g.organisations {
		if org.Identity == organisation || org.Slug == organisation {
			return g.accounts[org].Exact(identity)
		}
	}
	return nil, false
}

// serviceAccount finds a service account; an empty reference means the first.
func (g *Authenticator) serviceAccount(ref string) (*serviceAccount, error) {
	for _, org := range g.organisations {
		for first := range g.accounts[org].All() {
			if ref == "" {
				return first, nil
			}
		}
		if found, ok := g.accounts[org].Find(ref); ok {
			return found, nil
		}
	}
	return nil, apierror.Missing("service account %q does not exist", ref)
}
