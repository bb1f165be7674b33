package auth

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/jwt"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

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
	organisation, account := form.Get("organisation_id"), form.Get("service_account_id")
	user, err := g.accept(organisation, account, form.Get("subject_token"))
	if err != nil {
		return wire.Token{}, badRequest("invalid_request", err.Error())
	}
	wanted := form.Get("scope")
	limit, err := user.Scopes.narrow(wanted)
	if err != nil {
		return wire.Token{}, badRequest("invalid_scope", err.Error())
	}
	if user.Scopes = limit; strings.TrimSpace(wanted) == "" {
		// The token has the scopes that the federated identity has when it is used.
		user.Scopes = nil
	}
	issued := g.issue(user, lifetime)
	issued.Scope = limit.String()
	issued.IssuedType = "urn:ietf:params:oauth:token-type:access_token"
	return issued, nil
}

// named finds an organisation by identity or slug.
func (g *Authenticator) named(ref string) *Organisation {
	for _, org := range g.organisations {
		if org.Identity == ref || org.Slug == ref {
			return org
		}
	}
	return nil
}

// accept finds who a token lets act as a service account.
func (g *Authenticator) accept(ref, account, token string) (Principal, error) {
	org := g.named(ref)
	unknown := fmt.Errorf("service account %q is not known in organisation %q", account, ref)
	if org == nil {
		return Principal{}, unknown
	}
	var trusted iam.FederatedIdentity
	err := unknown
	org.Directory(func(d *iam.Directory) {
		if _, found := d.Accounts.Exact(account); found {
			own := []jwt.Key{{Public: g.issuer.Public()}}
			if trusted, err = d.Accept(account, token, own, time.Now()); err != nil {
				err = fmt.Errorf("subject_token: %w", err)
			}
		}
	})
	return Principal{
		Subject: account, Organisations: []*Organisation{org}, Scopes: trusted.Scopes, Project: trusted.Project,
		federated: trusted.Identity,
	}, err
}

// SubjectToken makes a token of the emulator's own identity provider, see Emulator.SubjectToken.
func (g *Authenticator) SubjectToken(account, subject, audience string, ttl time.Duration) (string, error) {
	trusted, err := g.ownIdentity(account)
	if err != nil {
		return "", fmt.Errorf("making a subject token: %w", err)
	}
	audiences := trusted.Audiences
	if audience != "" {
		audiences = []string{audience}
	}
	if subject == "" {
		subject = trusted.Subject
	}
	if ttl == 0 {
		ttl = time.Hour
	}
	now := time.Now()
	return jwt.Sign(g.issuer.PrivateKey, "", jwt.Claims{
		Issuer: iam.IssuerURL, Subject: subject, Audience: audiences, Expiry: now.Add(ttl), IssuedAt: now,
		Others: trusted.TrustedClaims(),
	})
}

// ownIdentity is the federated identity of a service account that trusts the emulator; an empty reference means the
// first account.
func (g *Authenticator) ownIdentity(ref string) (trusted iam.FederatedIdentity, err error) {
	err = apierror.Missing("service account %q does not exist", ref)
	for _, org := range g.organisations {
		found := false
		org.Directory(func(d *iam.Directory) {
			for a := range d.Accounts.All() {
				if found = ref == "" || ref == a.Identity || ref == a.Slug; !found {
					continue
				}
				var trusts bool
				err = nil
				if trusted, trusts = d.Own(a.Identity); !trusts {
					err = fmt.Errorf("service account %q trusts other issuers only; sign with the key of one of them",
						a.Identity)
				}
				return
			}
		})
		if found {
			return trusted, err
		}
	}
	return trusted, err
}
