package cloudconfig

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// uncredentialed is a file without credentials.
const uncredentialed = "organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\n"

func TestCredentialForms(t *testing.T) {
	exchange := func(account, organisation, file string, lifetime time.Duration) secret.Credentials {
		return secret.Credentials{Exchange: &secret.Exchange{ServiceAccount: account, Organisation: organisation,
			SubjectTokenFile: file, Lifetime: lifetime}}
	}
	webhook := map[string]string{envServiceAccount: "sa-env", envOrganisation: "o-env",
		envSubjectTokenFile: "/env/token", envProject: "p-env"}
	tests := []struct {
		name, yaml string
		env        map[string]string
		want       secret.Credentials
	}{
		{"token", "cloudCredentials: {personalAccessToken: t}", nil, secret.Credentials{PersonalAccessToken: "t"}},
		{"client", "cloudCredentials: {clientID: i, clientSecret: s}", nil, secret.Credentials{ClientID: "i",
			ClientSecret: "s"}},
		{"empty texts do not count", "cloudCredentials: {personalAccessToken: t, clientID: '', clientSecret: null, " +
			"directory: '', workloadIdentity: null}", nil,
			secret.Credentials{PersonalAccessToken: "t"}},
		{"exchange with defaults", "cloudCredentials: {workloadIdentity: {serviceAccountID: sa-1}}", nil,
			exchange("sa-1", "acme", "/var/run/secrets/thalassa/token", time.Hour)},
		{"exchange", "cloudCredentials: {workloadIdentity: {serviceAccountID: sa-1, organisationID: o-1, " +
			"subjectTokenFile: /t, lifetime: 60}}", webhook,
			exchange("sa-1", "o-1", "/t", time.Minute)},
		{"the file wants it, the environment completes it", "cloudCredentials: {workloadIdentity: {lifetime: 60}}",
			webhook,
			exchange("sa-env", "o-env", "/env/token", time.Minute)},
		{"an empty section wants it too", "cloudCredentials: {workloadIdentity: {}}", webhook,
			exchange("sa-env", "o-env", "/env/token", time.Hour)},
		{"nothing but the environment", "", webhook, exchange("sa-env", "o-env", "/env/token", time.Hour)},
		{"the file wins", "cloudCredentials: {personalAccessToken: t}", webhook,
			secret.Credentials{PersonalAccessToken: "t"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, problems := parse(t, uncredentialed+tt.yaml, environment(tt.env))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tt.want, c.CloudCredentials.inline()); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentialFormProblems(t *testing.T) {
	const forms = "want exactly one of personalAccessToken, clientID with clientSecret, directory or workloadIdentity"
	tests := []struct {
		name, yaml string
		env        map[string]string
		want       []string
	}{
		{"none", "cloudCredentials: {}", nil, []string{"cloudCredentials: found none, " + forms +
			"; the environment variable THALASSA_SERVICE_ACCOUNT_ID is not set either"}},
		{"two", "cloudCredentials: {personalAccessToken: s3cret, clientID: i, clientSecret: s3cret}", nil,
			[]string{"cloudCredentials: found personalAccessToken and clientID and clientSecret, " + forms}},
		{"three and a half", "cloudCredentials:\n  directory: /d\n  workloadIdentity: {}\n  personalAccessToken: " +
			"s3cret\n  clientSecret: s3cret", nil, []string{
			"cloudCredentials: found personalAccessToken and clientSecret and directory and workloadIdentity, " + forms,
			`cloudCredentials.workloadIdentity.serviceAccountID: missing: want the identity of a service account, like "sa-…", of letters, digits and - _ .; ` +
				"the environment variable THALASSA_SERVICE_ACCOUNT_ID is not set either",
		}},
		{"half", "cloudCredentials: {clientID: i}", nil,
			[]string{"cloudCredentials: found only one of clientID and clientSecret, want both"}},
		{"no section", "cloudCredentials: s3cret", nil,
			[]string{"cloudCredentials: found text, want a mapping of keys to values"}},
		{"lifetime", "cloudCredentials: {workloadIdentity: {serviceAccountID: sa-1, lifetime: 59}}", nil,
			[]string{"cloudCredentials.workloadIdentity.lifetime: found 59, want a whole number of seconds from 60 " +
				"to 86400"}},
		{"environment", "", map[string]string{envServiceAccount: "sa 1"}, []string{
			"cloudCredentials.workloadIdentity.serviceAccountID: found text with a blank or a line end in it in the " +
				"environment variable THALASSA_SERVICE_ACCOUNT_ID, " +
				`want the identity of a service account, like "sa-…", of letters, digits and - _ .`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := parse(t, uncredentialed+tt.yaml, environment(tt.env))
			if diff := cmp.Diff(tt.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(fmt.Sprint(problems), "s3cret") {
				t.Errorf("a secret is repeated: %q", problems)
			}
		})
	}
}

func TestOrganisationAndProjectFromTheEnvironment(t *testing.T) {
	env := environment(map[string]string{envOrganisation: "o-env", envProject: "p-env"})
	const rest = "vpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {personalAccessToken: t}\n"
	c, problems := parse(t, rest, env)
	if c.Organisation != "o-env" || c.Project != "p-env" || len(problems) > 0 {
		t.Errorf("organisation %q, project %q, problems %q; want those of the environment", c.Organisation, c.Project,
			problems)
	}
	if c, _ = parse(t, rest+"organisation: o\nproject: p\n", env); c.Organisation != "o" || c.Project != "p" {
		t.Errorf("organisation %q, project %q; want those of the file", c.Organisation, c.Project)
	}
}
