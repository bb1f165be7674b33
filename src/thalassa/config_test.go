package thalassa

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// required is the shortest file that works.
const required = "organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {personalAccessToken: s3cret}\n"

func TestConfigDefaults(t *testing.T) {
	got, credentials, err := parseConfig(strings.NewReader(required))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Organisation: "acme", Endpoint: "https://api.thalassa.cloud", VPCIdentity: "vpc-1", Cluster: "k8s-1",
		CloudCredentials: CloudCredentials{PersonalAccessToken: "s3cret"},
		LoadBalancer:     LoadBalancerConfig{Enabled: true, CreationPollInterval: 5, CreationPollTimeout: 300},
		InstancesV2:      InstancesConfig{Enabled: true, ZoneAndRegionEnabled: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if want := (client.Credentials{PersonalAccessToken: "s3cret"}); credentials != want {
		t.Errorf("credentials are not those of the file")
	}
}

// TestConfigEveryKey is the complete file of the CCM that this one replaces.
func TestConfigEveryKey(t *testing.T) {
	file := `
organisation: acme
project: p-1
endpoint: http://127.0.0.1:7443/
insecure: true
cloudCredentials: {clientID: id, clientSecret: secret}
vpcIdentity: vpc-1
defaultSubnet: subnet-1
cluster: k8s-1
additionalLabels: {team: a}
loadBalancer: {enabled: false, creationPollInterval: 7, creationPollTimeout: 70}
instancesV2: {enabled: false, zoneAndRegionEnabled: false}
`
	got, credentials, err := parseConfig(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Organisation: "acme", Project: "p-1", Endpoint: "http://127.0.0.1:7443/", Insecure: true,
		CloudCredentials: CloudCredentials{ClientID: "id", ClientSecret: "secret"},
		VPCIdentity:      "vpc-1", DefaultSubnet: "subnet-1", Cluster: "k8s-1", AdditionalLabels: map[string]string{"team": "a"},
		LoadBalancer: LoadBalancerConfig{CreationPollInterval: 7, CreationPollTimeout: 70},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if want := (client.Credentials{ClientID: "id", ClientSecret: "secret"}); credentials != want {
		t.Errorf("credentials are not those of the file")
	}
}

func TestConfigProblems(t *testing.T) {
	const forms = "want exactly one of personalAccessToken, clientID with clientSecret, or directory"
	tests := []struct {
		name, yaml string
		want       []string
	}{
		{"everything missing", "project: p", []string{
			"organisation: missing: want the organisation's identity or slug",
			`vpcIdentity: missing: want the identity of the VPC that the cluster's machines are in, like "vpc-…"`,
			`cluster: missing: want an identity of this cluster, unique in the organisation, like "k8s-…"; its cloud objects are labelled with it`,
			"cloudCredentials: found none, " + forms,
		}},
		{"misspelt", required + "vpcIdentty: x", []string{`vpcIdentty: unknown key in line 5; did you mean "vpcIdentity"?`}},
		{"wrong type is reported once", "organisation: 5\nvpcIdentity: v\ncluster: c\ncloudCredentials: {personalAccessToken: x}", []string{
			"organisation: found a number, want text (put it in quotes)",
		}},
		{"endpoint", required + "endpoint: api.thalassa.cloud", []string{`endpoint: found "api.thalassa.cloud", want a URL like https://api.thalassa.cloud`}},
		{"impossible numbers", required + "loadBalancer: {creationPollInterval: 0, creationPollTimeout: 100000}", []string{
			"loadBalancer.creationPollInterval: found 0, want a whole number of seconds from 1 to 86400",
			"loadBalancer.creationPollTimeout: found 100000, want a whole number of seconds from 1 to 86400",
		}},
		{"two credentials", "organisation: o\nvpcIdentity: v\ncluster: c\ncloudCredentials: {personalAccessToken: s3cret, clientID: i, clientSecret: s3cret}", []string{
			"cloudCredentials: found personalAccessToken and clientID and clientSecret, " + forms,
		}},
		{"half a credential", "organisation: o\nvpcIdentity: v\ncluster: c\ncloudCredentials: {clientID: i}", []string{
			"cloudCredentials: found only half of clientID and clientSecret, want both",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := parseConfig(strings.NewReader(tt.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) > 1 {
				lines = lines[1:]
			}
			for i := range lines {
				lines[i] = strings.TrimPrefix(lines[i], "  * ")
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret is repeated: %v", err)
			}
		})
	}
}

func TestCredentialsDirectory(t *testing.T) {
	token := client.Credentials{PersonalAccessToken: "t"}
	tests := []struct {
		name  string
		files map[string]string
		want  client.Credentials
		fails bool
	}{
		{"token, with a line end", map[string]string{"personalAccessToken": "t\n"}, token, false},
		{"client", map[string]string{"clientID": "i", "clientSecret": "s"}, client.Credentials{ClientID: "i", ClientSecret: "s"}, false},
		{"other files do not matter", map[string]string{"personalAccessToken": "t", "note": "x"}, token, false},
		{"empty directory", nil, client.Credentials{}, true},
		{"both", map[string]string{"personalAccessToken": "t", "clientID": "i", "clientSecret": "s"}, client.Credentials{}, true},
		{"half a client", map[string]string{"clientID": "i"}, client.Credentials{}, true},
		{"token and half a client", map[string]string{"personalAccessToken": "t", "clientID": "i"}, client.Credentials{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, "cloud-config.yaml")
			file := fmt.Sprintf("organisation: o\nvpcIdentity: v\ncluster: c\ncloudCredentials: {directory: %q}", dir)
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			_, got, err := ReadConfig(path)
			if (err != nil) != tt.fails || (err == nil && got != tt.want) {
				t.Errorf("%v, error %v; want %v, failure %v", got, err, tt.want, tt.fails)
			}
			if tt.fails && !strings.Contains(err.Error(), "cloudCredentials.directory") {
				t.Errorf("error %v does not name the key", err)
			}
		})
	}
}

func TestReadConfigNamesTheFile(t *testing.T) {
	_, _, err := ReadConfig("/does/not/exist.yaml")
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist.yaml") {
		t.Errorf("error = %v, want one that names the file", err)
	}
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	c := client.Credentials{PersonalAccessToken: "s3cret", ClientID: "id", ClientSecret: "s3cret"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("printed as %s", text)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(required)
	f.Add("cloudCredentials: {directory: /nowhere}")
	f.Fuzz(func(t *testing.T, text string) {
		if c, _, err := parseConfig(strings.NewReader(text)); err == nil && (c.VPCIdentity == "" || c.Cluster == "") {
			t.Errorf("accepted without VPC or cluster: %q", text)
		}
	})
}
