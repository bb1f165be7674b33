package cloudconfig

import (
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// Credentials are given in one of four forms: a personal access token, an OIDC client with its secret, a directory
// that holds either as files (personalAccessToken, or clientID and clientSecret) like a mounted Secret, or a workload
// identity.
type Credentials struct {
	PersonalAccessToken string           `yaml:"personalAccessToken,omitempty"`
	ClientID            string           `yaml:"clientID,omitempty"`
	ClientSecret        string           `yaml:"clientSecret,omitempty"`
	Directory           string           `yaml:"directory,omitempty"`
	WorkloadIdentity    WorkloadIdentity `yaml:"workloadIdentity,omitempty"`
}

// WorkloadIdentity is a token of an issuer that the cloud trusts, usually Kubernetes. It is exchanged for a token of
// the cloud. It is not in use without a service account.
type WorkloadIdentity struct {
	ServiceAccountID string `yaml:"serviceAccountID,omitempty"` // identity
	OrganisationID   string `yaml:"organisationID,omitempty"`   // identity
	SubjectTokenFile string `yaml:"subjectTokenFile,omitempty"` // path of the token that is exchanged
	Lifetime         int    `yaml:"lifetime,omitempty"`         // seconds, of the token it is exchanged for
}

const (
	pathCredentials      = "cloudCredentials"
	pathWorkloadIdentity = pathCredentials + ".workloadIdentity"

	// Environment variables that the platform's webhook sets in pods with workload identity, and the usual path of the
	// token.
	envServiceAccount   = "THALASSA_SERVICE_ACCOUNT_ID"
	envOrganisation     = "THALASSA_ORGANISATION_ID"
	envProject          = "THALASSA_PROJECT_ID"
	envSubjectTokenFile = "THALASSA_SUBJECT_TOKEN_FILE"
	subjectTokenFile    = "/var/run/secrets/thalassa/token"
)

// credentialForm is one way to give credentials: all of its keys, and none of another form.
type credentialForm struct {
	name string
	keys []string // below cloudCredentials
}

func credentialForms() []credentialForm {
	return []credentialForm{
		{"personalAccessToken", []string{"personalAccessToken"}},
		{"clientID and clientSecret", []string{"clientID", "clientSecret"}},
		{"directory", []string{"directory"}},
		{"workloadIdentity", []string{"workloadIdentity"}},
	}
}

// formsIn returns the forms that the file gives a value of, and their keys that have one.
func formsIn(file *configfile.File) (forms, keys []string) {
	given := func(key string) bool { return file.Given(pathCredentials + "." + key) }
	for _, form := range credentialForms() {
		if slices.ContainsFunc(form.keys, given) {
			forms = append(forms, form.name)
		}
		for _, key := range form.keys {
			if given(key) {
				keys = append(keys, key)
			}
		}
	}
	return forms, keys
}

// exchanges reports whether a workload identity is in use: if the file contains one, or if it contains no credentials
// and the environment has a service account.
func exchanges(file *configfile.File, getenv func(string) string) bool {
	forms, _ := formsIn(file)
	return file.Given(pathWorkloadIdentity) || len(forms) == 0 && getenv(envServiceAccount) != ""
}

// checkCredentials checks that the file contains exactly one form, unless the environment has a workload identity.
func checkCredentials(file *configfile.File, exchange bool) {
	const want = "want exactly one of personalAccessToken, clientID with clientSecret, directory or workloadIdentity"
	forms, keys := formsIn(file)
	switch {
	case len(forms) > 1:
		file.Add(pathCredentials, strings.Join(keys, " and "), want)
	case len(keys) == 1 && strings.HasPrefix(keys[0], "client"):
		file.Add(pathCredentials, "only one of clientID and clientSecret", "want both")
	case len(forms) == 0 && !exchange:
		file.Add(pathCredentials, "none", want+"; the environment variable "+envServiceAccount+" is not set either")
	}
}

// inline returns the credentials that the configuration itself contains.
func (c Credentials) inline() secret.Credentials {
	credentials := secret.Credentials{PersonalAccessToken: c.PersonalAccessToken, ClientID: c.ClientID,
		ClientSecret: c.ClientSecret}
	if identity := c.WorkloadIdentity; identity.ServiceAccountID != "" {
		credentials.Exchange = &secret.Exchange{
			ServiceAccount: identity.ServiceAccountID, Organisation: identity.OrganisationID,
			SubjectTokenFile: identity.SubjectTokenFile, Lifetime: seconds(identity.Lifetime),
		}
	}
	return credentials
}
