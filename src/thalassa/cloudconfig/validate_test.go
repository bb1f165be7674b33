package cloudconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name, yaml string
		files      bool
		want       []string
	}{
		{"good", required, true, nil},
		{"files do not matter", required + "caBundle: /nowhere", false, nil},
		{"file and files together", "organisation: acme\ncaBundle: /nowhere\nvpcIdentity: v\ncluster: ' " +
			"c'\ncloudCredentials: {directory: /nowhere}", true, []string{
			"caBundle: found /nowhere, want a file that can be read: no such file or directory",
			`cluster: found text with a blank or a line end in it, want an identity of this cluster, unique in the organisation, like "k8s-…": at most 63 letters, digits and - _ .`,
			"cloudCredentials.directory: found /nowhere, want a directory that can be read: no such file or directory",
		}},
		{"no YAML", "{", true, []string{"parsing YAML: yaml: line 1: did not find expected node content"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			effective, problems := Validate(fileWith(t, tt.yaml), nothing(), tt.files)
			if diff := cmp.Diff(tt.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if (len(effective) > 0) != (len(tt.want) == 0) {
				t.Errorf("effective configuration %q", effective)
			}
		})
	}
	if _, problems := Validate("/does/not/exist", nothing(), true); len(problems) != 1 ||
		!strings.Contains(problems[0], "opening the cloud-config: open /does/not/exist") {
		t.Errorf("problems %q, want one that names the file", problems)
	}
}

// TestValidateShowsWhatIsInEffect: with the environment and the defaults, without secrets, and in a form that is itself
// accepted.
func TestValidateShowsWhatIsInEffect(t *testing.T) {
	from := cloud.Environment{Variable: environment(map[string]string{envProject: "p-env"})}
	effective, problems := Validate(fileWith(t, required), from, true)
	for _, want := range []string{"organisation: acme\n", "project: p-env\n", "callTimeout: 30\n",
		"personalAccessToken: (not shown)\n"} {
		if !strings.Contains(string(effective), want) {
			t.Errorf("the effective configuration lacks %q, problems %q:\n%s", want, problems, effective)
		}
	}
	if strings.Contains(string(effective), "s3cret") {
		t.Errorf("a secret is shown:\n%s", effective)
	}
	again := strings.ReplaceAll(string(effective), "(not shown)", "s3cret")
	if shown, problems := Validate(fileWith(t, again), nothing(), true); string(shown) != string(effective) {
		t.Errorf("shown again, problems %q:\n%s\nwant:\n%s", problems, shown, effective)
	}
}

// TestDangers: whoever can read the credentials on the network is a reason for a warning.
func TestDangers(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "endpoint: http://127.0.0.1:7443": "", "endpoint: http://localhost:7443": "",
		"endpoint: http://[::1]:1": "",
		"endpoint: http://api.example.com": "endpoint: http://api.example.com begins with http://, so the " +
			"credentials are sent without encryption; use https://",
		"insecure: true": "insecure: the API's certificate is not verified, and an attacker on the network can read " +
			"the credentials; use caBundle",
	} {
		if got := strings.Join(Warnings(fileWith(t, required+text), nothing()), "\n"); got != want {
			t.Errorf("%q: warnings %q, want %q", text, got, want)
		}
	}
}
