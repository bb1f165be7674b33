package iam

import (
	"crypto/rand"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// ServiceAccount is an account for programs.
type ServiceAccount struct{ object.Record }

// AccessCredential is a key and a secret with which a program acts as a service account.
type AccessCredential struct {
	object.Record
	// Account is the identity of the service account.
	Account string
	// AccessKey is the client id at the token endpoint, and secret the client secret. It is shown only once.
	AccessKey, secret string
	Scopes            []string
	ExpiresAt         *time.Time
	LastUsedAt        *time.Time
}

type accountView struct {
	wire.Meta
	Bindings []bindingView `json:"roleBindings,omitempty"`
}

type credentialInput struct {
	wire.MetaInput
	ExpiresAt *time.Time `json:"expiresAt"`
	Scopes    []string   `json:"scopes"`
}

type credentialView struct {
	Identity    string     `json:"identity"`
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	CreatedAt   time.Time  `json:"createdAt"`
	LastUsedAt  *time.Time `json:"lastUsedAt,omitempty"`
	ExpiresAt   *time.Time `json:"expiresAt,omitempty"`
	AccessKey   string     `json:"accessKey"`
}

// createdCredential is what the creation answers: only here is the secret.
type createdCredential struct {
	Identity     string   `json:"identity"`
	AccessKey    string   `json:"accessKey"`
	AccessSecret string   `json:"accessSecret"`
	Scopes       []string `json:"scopes,omitempty"`
}

func accounts() resource.Kind[*Directory, *ServiceAccount, wire.MetaInput] {
	return resource.Kind[*Directory, *ServiceAccount, wire.MetaInput]{
		Name: accountKind, Prefix: "sa", Path: "/v1/service-accounts", Single: true, Partial: true,
		Meta: named, Longest: lengths(),
		Among: func(d *Directory, _ *request) (*object.Collection[*ServiceAccount], error) { return &d.Accounts, nil },
		New: func(_ *Directory, _ *request, record object.Record, _ *wire.MetaInput) (*ServiceAccount, error) {
			return &ServiceAccount{record}, nil
		},
		Change: func(_ *Directory, _ *request, a *ServiceAccount, next object.Record, _ *wire.MetaInput) error {
			a.Record = next
			return nil
		},
		Release: (*Directory).releaseAccount,
		View:    (*Directory).viewAccount,
	}
}

func (d *Directory) viewAccount(_ *request, a *ServiceAccount) any {
	view := &accountView{Meta: a.Meta}
	for b := range d.Bindings.All() {
		if b.Account == a.Identity {
			view.Bindings = append(view.Bindings, d.viewBinding(b))
		}
	}
	return view
}

// releaseAccount refuses the deletion of an account that somebody can act as by federation, or that a role is bound to.
// Its access credentials go with it.
func (d *Directory) releaseAccount(_ *request, a *ServiceAccount) error {
	if err := d.checkUnbound("service account", a.Identity); err != nil {
		return err
	}
	for f := range d.Federated.All() {
		if f.Account == a.Identity {
			return apierror.Conflict("service account %q is in use by federated identity %q; delete that first",
				a.Identity, f.Identity)
		}
	}
	for credential := range d.Credentials.All() {
		if credential.Account == a.Identity {
			d.Credentials.Remove(credential)
		}
	}
	return nil
}

func credentials() resource.Kind[*Directory, *AccessCredential, credentialInput] {
	return resource.Kind[*Directory, *AccessCredential, credentialInput]{
		Name: credentialKind, Prefix: "sac", Path: "/v1/service-accounts/{id}/access-credentials",
		Key:  "credential",
		Meta: func(in *credentialInput) wire.MetaInput { return in.MetaInput }, Longest: lengths(),
		Among: (*Directory).credentialsOf,
		New:   (*Directory).newCredential,
		View: func(_ *Directory, _ *request, c *AccessCredential) any {
			return credentialView{c.Identity, c.Name, c.Description, c.CreatedAt, c.LastUsedAt, c.ExpiresAt,
				c.AccessKey}
		},
		Made: func(_ *Directory, _ *request, c *AccessCredential) any {
			return createdCredential{c.Identity, c.AccessKey, c.secret, c.Scopes}
		},
		Release: func(d *Directory, _ *request, c *AccessCredential) error {
			d.Credentials.Remove(c)
			return nil
		},
	}
}

// credentialsOf are the access credentials of the service account that a path names.
func (d *Directory) credentialsOf(r *request) (*object.Collection[*AccessCredential], error) {
	account, err := accounts().Named(d, r)
	if err != nil {
		return nil, err
	}
	return d.credentialsOfAccount(account), nil
}

func (d *Directory) credentialsOfAccount(account *ServiceAccount) *object.Collection[*AccessCredential] {
	return partsOf(&d.Credentials, func(c *AccessCredential) bool { return c.Account == account.Identity })
}

func (d *Directory) newCredential(r *request, record object.Record, in *credentialInput) (*AccessCredential, error) {
	account, _ := d.Accounts.Find(r.PathValue("id"))
	if err := checkScopes("scopes", in.Scopes); err != nil {
		return nil, err
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(r.Now) {
		return nil, apierror.Invalid("field \"expiresAt\": %s has passed", in.ExpiresAt.Format(time.RFC3339))
	}
	c := &AccessCredential{Record: record, Account: account.Identity, AccessKey: "ak-" + rand.Text(),
		secret: rand.Text(), Scopes: in.Scopes, ExpiresAt: in.ExpiresAt}
	d.Credentials.Add(c)
	return c, nil
}

// Credential finds a valid access credential by its key and secret, and records its use.
func (d *Directory) Credential(key, secret string, now time.Time) (AccessCredential, bool) {
	for c := range d.Credentials.All() {
		if c.AccessKey == key && c.secret == secret && c.valid(now) {
			c.LastUsedAt = &now
			return *c, true
		}
	}
	return AccessCredential{}, false
}

// Holds returns whether an access credential still exists and is valid.
func (d *Directory) Holds(identity string, now time.Time) bool {
	c, found := d.Credentials.Exact(identity)
	return found && c.valid(now)
}

func (c *AccessCredential) valid(now time.Time) bool {
	return c.ExpiresAt == nil || now.Before(*c.ExpiresAt)
}
