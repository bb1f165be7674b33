package iam

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// Accept finds a federated identity of a service account that trusts a token, and records its use. own are the keys of
// the emulator's own issuer. If no identity trusts the token, the error says why for each one of the token's issuer.
func (d *Directory) Accept(account, token string, own []jwt.Key, now time.Time) (FederatedIdentity, error) {
	said, err := jwt.Unverified(token)
	if err != nil {
		return FederatedIdentity{}, err
	}
	var reasons []string
	for f := range d.Federated.All() {
		provider, found := d.Providers.Exact(f.Provider)
		if f.Account != account || !found || provider.Issuer != said.Issuer {
			continue
		}
		keys := provider.Keys
		if len(keys) == 0 && provider.Issuer == IssuerURL {
			keys = own
		}
		if err := f.trusts(provider, keys, token, now); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		f.LastUsedAt = &now
		return *f, nil
	}
	if len(reasons) == 0 {
		return FederatedIdentity{}, fmt.Errorf("service account %q does not trust issuer %q", account, said.Issuer)
	}
	return FederatedIdentity{}, errors.New(strings.Join(slices.Compact(reasons), "; or "))
}

func (f *FederatedIdentity) trusts(p *Provider, keys []jwt.Key, token string, now time.Time) error {
	switch {
	case p.Status != active:
		return fmt.Errorf("federated identity provider %q is %s", p.Identity, p.Status)
	case !f.Valid(now):
		return fmt.Errorf("federated identity %q is %s", f.Identity, f.status(now))
	case len(keys) == 0:
		return fmt.Errorf("federated identity provider %q has no localJwks, and the emulator requests no keys from "+
			"issuers; create it with localJwks", p.Identity)
	}
	claims, err := jwt.Verify(token, keys, now)
	if err != nil {
		return err
	}
	if claims.Subject != f.Subject {
		return fmt.Errorf("subject %q is not the trusted one, %q", claims.Subject, f.Subject)
	}
	if !accepts(f.Match, f.Audiences, claims.Audience) {
		return fmt.Errorf("audience %q does not match the trusted %q (%s)", claims.Audience, f.Audiences, f.Match)
	}
	return f.checkClaims(claims.Others)
}

// ScopesOf are the scopes that a federated identity gives now. It gives none when it may not be used any more.
func (d *Directory) ScopesOf(identity string, now time.Time) (texts []string, valid bool) {
	f, found := d.Federated.Exact(identity)
	if !found || !f.Valid(now) {
		return nil, false
	}
	p, found := d.Providers.Exact(f.Provider)
	return f.Scopes, found && p.Status == active
}

// Own finds the first federated identity of a service account that trusts the emulator's own issuer.
func (d *Directory) Own(account string) (FederatedIdentity, bool) {
	for f := range d.Federated.All() {
		if p, found := d.Providers.Exact(f.Provider); found && f.Account == account && p.Issuer == IssuerURL {
			return *f, true
		}
	}
	return FederatedIdentity{}, false
}

// addAccount adds a service account with its credentials and federated identities.
func (s seeding) addAccount(in seed.ServiceAccount) error {
	record, err := recorded(s, &s.Accounts, "sa", accountKind, seed.Object{Identity: in.Identity, Name: in.Name,
		Labels: in.Labels, Details: in.Details}, lengths())
	if err != nil {
		return err
	}
	account := &ServiceAccount{record}
	return cmp.Or(
		seed.Each("accessCredentials", credentialKind, in.Credentials,
			func(c *seed.Credential) (string, error) { return c.Name, s.addCredential(account, *c) }),
		seed.Each("federatedIdentities", federatedKind, in.FederatedIdentities,
			func(f *seed.FederatedIdentity) (string, error) { return f.Name, s.addFederated(account, *f) }),
		object.Insert(&s.Accounts, account),
	)
}

func (s seeding) addFederated(account *ServiceAccount, in seed.FederatedIdentity) error {
	if in.Provider == "" && (in.Keys == "") != (in.Issuer == "") {
		return errors.New("give the issuer and its keys, or neither to trust the emulator's own tokens")
	}
	if in.Subject == "" {
		return errors.New("field \"subject\" is required")
	}
	longest := federationLengths()
	if in.Name == "" {
		longest.NameField, s.UniqueNames = "subject", false
	}
	record, err := recorded(s, &s.Federated, "fi", federatedKind, seed.Object{Identity: in.Identity,
		Name: cmp.Or(in.Name, in.Subject), Labels: in.Labels, Details: in.Details}, longest)
	if err != nil {
		return err
	}
	f := &FederatedIdentity{
		Record: record, Account: account.Identity, Subject: in.Subject, Audiences: in.Audiences,
		Match: in.AudienceMatch, Scopes: in.Scopes, Status: cmp.Or(in.Status, active), Project: in.Project,
		Conditions: map[string]any{}, ExpiresAt: in.ExpiresAt, LastUsedAt: in.LastUsedAt,
	}
	for claim, value := range in.Conditions {
		// Numbers are what they are in requests.
		if number, whole := value.(int); whole {
			value = float64(number)
		}
		f.Conditions[claim] = value
	}
	for claim, value := range in.Claims {
		f.Conditions[claim] = value
	}
	if err := f.check(); err != nil {
		return err
	}
	provider, err := s.trusted(in)
	if err != nil {
		return err
	}
	f.Provider = provider.Identity
	return object.Insert(&s.Federated, f)
}

// trusted is the emulator's own issuer, or a provider with the keys of the seed. Two identities of one issuer may
// trust different keys, and have providers of their own then.
func (s seeding) trusted(in seed.FederatedIdentity) (*Provider, error) {
	if in.Provider != "" {
		p, found := s.Providers.Find(in.Provider)
		if !found {
			return nil, fmt.Errorf("field \"provider\": federated identity provider %q not found", in.Provider)
		}
		return p, nil
	}
	issuer := in.Issuer
	if issuer == "" {
		issuer = IssuerURL
		for p := range s.Providers.All() {
			if p.Issuer == issuer {
				return p, nil
			}
		}
	}
	// The issuer is the name of its provider.
	if err := object.CheckText("issuer", issuer, federationLengths().Name); err != nil {
		return nil, err
	}
	p := &Provider{Record: object.NewRecord("fip", object.Spec{Name: issuer}, s.Providers.HasSlug, s.Now),
		Issuer: issuer, Status: active, hidden: in.Keys}
	if in.Keys != "" {
		var err error
		if p.Keys, err = jwt.ParseKeys(in.Keys); err != nil {
			return nil, fmt.Errorf("field \"keys\": %w", err)
		}
	}
	s.Providers.Add(p)
	return p, nil
}

// checkClaims checks the conditions on other claims.
func (f *FederatedIdentity) checkClaims(said map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(f.Conditions)) {
		value, found := claimAt(said, path)
		switch {
		case !found:
			return fmt.Errorf("claim %q is missing, %q is trusted", path, fmt.Sprint(f.Conditions[path]))
		case fmt.Sprint(value) != fmt.Sprint(f.Conditions[path]):
			return fmt.Errorf("claim %q is \"%v\", %q is trusted", path, value, fmt.Sprint(f.Conditions[path]))
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

// TrustedClaims are other claims that fulfil the conditions.
func (f *FederatedIdentity) TrustedClaims() map[string]any {
	all := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(f.Conditions)) {
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
		within[steps[last]] = f.Conditions[path]
	}
	return all
}

// accepts compares the audiences of a token with the trusted ones. Without trusted ones, it accepts no token.
func accepts(m seed.AudienceMatch, trusted, said []string) bool {
	inSaid := func(audience string) bool { return slices.Contains(said, audience) }
	missing := slices.ContainsFunc(trusted, func(audience string) bool { return !inSaid(audience) })
	foreign := slices.ContainsFunc(said, func(audience string) bool { return !slices.Contains(trusted, audience) })
	switch m { //nolint:exhaustive // any is the default
	case seed.MatchExact:
		return len(trusted) > 0 && !missing && !foreign
	case seed.MatchAll:
		return len(trusted) > 0 && !missing
	}
	return slices.ContainsFunc(trusted, inSaid)
}
