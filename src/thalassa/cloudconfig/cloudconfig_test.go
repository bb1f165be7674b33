package cloudconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
)

// required is the shortest file that works.
const required = "organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {personalAccessToken: " +
	"s3cret}\n"

// noEnvironment is an environment without variables.
func noEnvironment(string) string { return "" }

// nothing is the same with the files of this process.
func nothing() cloud.Environment { return cloud.Environment{Variable: noEnvironment} }

// environment is one with the given variables.
func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// parse returns a configuration, and what is wrong with it.
func parse(t *testing.T, file string, getenv func(string) string) (Config, []string) {
	t.Helper()
	c, parsed, err := parseFile(strings.NewReader(file), getenv)
	if err != nil {
		t.Fatal(err)
	}
	return c, parsed.Problems().Lines()
}

// fileWith writes a cloud-config and returns its path.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigOfTheExistingCCM is the complete file of the CCM that this one replaces.
func TestConfigOfTheExistingCCM(t *testing.T) {
	file := `
organisation: acme
project: p-1
endpoint: http://127.0.0.1:7443/
insecure: true
cloudCredentials: {personalAccessToken: "", clientID: id, clientSecret: secret}
vpcIdentity: vpc-1
defaultSubnet: subnet-1
cluster: k8s-1
additionalLabels: {team: a}
loadBalancer: {enabled: false, creationPollInterval: 7, creationPollTimeout: 70}
instancesV2: {enabled: false, zoneAndRegionEnabled: false}
`
	got, problems := parse(t, file, noEnvironment)
	want := Default()
	want.Organisation, want.Project, want.Endpoint, want.Insecure = "acme", "p-1", "http://127.0.0.1:7443/", true
	want.CloudCredentials = Credentials{ClientID: "id", ClientSecret: "secret"}
	want.VPCIdentity, want.DefaultSubnet, want.Cluster = "vpc-1", "subnet-1", "k8s-1"
	want.AdditionalLabels = map[string]string{"team": "a"}
	want.LoadBalancer = LoadBalancer{CreationPollInterval: 7, DriftPeriod: 300,
		Balancers: configfile.Balancers{CreationPollTimeout: 70, Drift: "repair"}}
	want.InstancesV2 = Instances{Removal: configfile.DefaultRemoval()}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("configuration (-want +got), problems %q:\n%s", problems, diff)
	}
}

// TestConfigOfThisCCM has every key that the existing CCM does not know.
func TestConfigOfThisCCM(t *testing.T) {
	file := `
organisation: acme
caBundle: /ca.crt
cloudCredentials:
  workloadIdentity: {serviceAccountID: sa-1, organisationID: o-1, subjectTokenFile: /token, lifetime: 600}
vpcIdentity: vpc-1
cluster: k8s-1
loadBalancer: {driftPeriod: 0}
inventory: {machineAge: 30, balancerAge: 90}
api: {callTimeout: 5, requestsPerSecond: 10, burst: 1}
`
	got, problems := parse(t, file, noEnvironment)
	want := Default()
	want.Organisation, want.CABundle, want.VPCIdentity, want.Cluster = "acme", "/ca.crt", "vpc-1", "k8s-1"
	want.CloudCredentials.WorkloadIdentity = WorkloadIdentity{ServiceAccountID: "sa-1", OrganisationID: "o-1",
		SubjectTokenFile: "/token", Lifetime: 600}
	want.LoadBalancer.DriftPeriod = 0
	want.Inventory = Inventory{MachineAge: 30, BalancerAge: 90}
	want.API = configfile.API{CallTimeout: 5, RequestsPerSecond: 10, Burst: 1}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("configuration (-want +got), problems %q:\n%s", problems, diff)
	}
	if got.Inventory.MaxMachineAge() != 30*time.Second || got.Inventory.MaxBalancerAge() != 90*time.Second {
		t.Errorf("ages %s and %s", got.Inventory.MaxMachineAge(), got.Inventory.MaxBalancerAge())
	}
}

func TestEndpointProblems(t *testing.T) {
	const endpoint = "want a URL of scheme and host, optionally with a port, like https://api.thalassa.cloud"
	configProblems(t, []configProblemTest{
		{"no scheme", required + "endpoint: api.thalassa.cloud",
			[]string{"endpoint: found text that does not begin with https:// or http://, " + endpoint}},
		{"no host", required + "endpoint: https://", []string{"endpoint: found a URL without a host, " + endpoint}},
		{"path", required + "endpoint: https://a/v1", []string{"endpoint: found a URL with a path, " + endpoint}},
		{"query", required + "endpoint: https://a?b", []string{"endpoint: found a URL with a query, " + endpoint}},
		{"fragment", required + "endpoint: https://a#b", []string{"endpoint: found a URL with a fragment, " +
			endpoint}},
		{"user", required + "endpoint: https://me:s3cret@a",
			[]string{"endpoint: found a URL with a user name or a password, " + endpoint}},
		{"no URL", required + "endpoint: 'https://a b'", []string{"endpoint: found text that is not a URL, " +
			endpoint}},
		{"strange host", required + "endpoint: https://a*b", []string{"endpoint: found a URL that is not allowed, " +
			endpoint}},
	})
}

// configProblemTest is a configuration file and what is wrong with it.
type configProblemTest struct {
	name, yaml string
	want       []string
}

func configProblems(t *testing.T, tests []configProblemTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := parse(t, tt.yaml, noEnvironment)
			if diff := cmp.Diff(tt.want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(problems); strings.Contains(text, "s3cret") {
				t.Errorf("a secret is repeated: %s", text)
			}
		})
	}
}

func TestConfigProblems(t *testing.T) {
	const letters = ", of letters, digits and - _ ."
	const labels = "want labels as in Kubernetes: keys and values of at most 63 letters, digits and - _ ., keys " +
		"optionally with a domain and a slash before them"
	configProblems(t, []configProblemTest{
		{"everything missing", "project: p", []string{
			"organisation: missing: want the organisation's identity or slug" + letters +
				"; the environment variable THALASSA_ORGANISATION_ID is not set either",
			`vpcIdentity: missing: want the identity of the VPC that contains the cluster's machines, like "vpc-…"` + letters,
			`cluster: missing: want an identity of this cluster, unique in the organisation, like "k8s-…": at most 63 letters, digits and - _ .`,
			"cloudCredentials: found none, want exactly one of personalAccessToken, clientID with clientSecret, " +
				"directory or workloadIdentity; " +
				"the environment variable THALASSA_SERVICE_ACCOUNT_ID is not set either",
		}},
		{"misspelt", required + "vpcIdentty: x",
			[]string{`vpcIdentty: unknown key in line 5; did you mean "vpcIdentity"?`}},
		{"wrong type is reported once",
			"organisation: 5\nvpcIdentity: v\ncluster: c\ncloudCredentials: {personalAccessToken: 5}", []string{
				"organisation: found a number, want text (put it in quotes)",
				"cloudCredentials.personalAccessToken: found a number, want text (put it in quotes)",
			}},
		{"blanks", "organisation: ' acme'\nvpcIdentity: 'vpc 1'\ncluster: |\n  c\nproject: a/b\ncloudCredentials: " +
			"{personalAccessToken: 't '}", []string{
			"organisation: found text with a blank or a line end in it, want the organisation's identity or slug" +
				letters,
			`vpcIdentity: found text with a blank or a line end in it, want the identity of the VPC that contains the cluster's machines, like "vpc-…"` + letters,
			`cluster: found text with a blank or a line end in it, want an identity of this cluster, unique in the organisation, like "k8s-…": at most 63 letters, digits and - _ .`,
			"project: found text, want the project's identity" + letters,
			"cloudCredentials.personalAccessToken: found text with a blank or a line end in it, want a token of " +
				"printable ASCII characters without blanks",
		}},
		{"impossible numbers", required +
			"loadBalancer: {creationPollInterval: 0, creationPollTimeout: 100000, driftPeriod: -1, maxTargets: " +
			"10001}\napi:\n  callTimeout: 0\n  requestsPerSecond: 1001\n  burst: 0\ninventory:\n  machineAge: 0\n  " +
			"balancerAge: 3601", []string{
			"loadBalancer.creationPollInterval: found 0, want a whole number of seconds from 1 to 86400",
			"loadBalancer.creationPollTimeout: found 100000, want a whole number of seconds from 0 to 86400",
			"loadBalancer.driftPeriod: found -1, want a whole number of seconds from 0 to 86400",
			"loadBalancer.maxTargets: found 10001, want a whole number of nodes from 0 to 10000",
			"api.callTimeout: found 0, want a whole number of seconds from 1 to 600",
			"api.requestsPerSecond: found 1001, want a whole number of calls from 1 to 1000",
			"api.burst: found 0, want a whole number of calls from 1 to 10000",
			"inventory.machineAge: found 0, want a whole number of seconds from 1 to 3600",
			"inventory.balancerAge: found 3601, want a whole number of seconds from 1 to 3600",
		}},
		{"labels", required + "additionalLabels:\n  k8s.thalassa.cloud/kubernetes-cluster: x\n  -a: x\n  b: 'y z'\n  " +
			"example.com/c: good\n  d: ''\n  e: '-'", []string{
			"additionalLabels.k8s.thalassa.cloud/kubernetes-cluster: keys that begin with k8s.thalassa.cloud/ are " +
				"set by this program itself; want another key",
			"additionalLabels.-a: found a key that is not allowed, " + labels,
			"additionalLabels.b: found text with a blank or a line end in it, " + labels,
			"additionalLabels.e: found text, " + labels,
		}},
		{"exclusive without a table", required + "routes: {exclusive: true}", []string{
			"routes.exclusive: found true without routes.table, want the identity or slug of a route table that only " +
				"this cluster uses, in routes.table",
		}},
		{"verified and not", required + "insecure: true\ncaBundle: /ca.crt", []string{
			"insecure: found true together with caBundle, want only one of the two: without verification of the " +
				"certificate, a bundle has no effect",
		}},
	})
}

// TestConfigThatTheExistingCCMAccepts: what it accepts and has one obvious meaning is accepted, and a warning says what
// to write. What is refused names the keys that are there.
func TestConfigThatTheExistingCCMAccepts(t *testing.T) {
	const credentials = "organisation: acme\nvpcIdentity: vpc-1\ncloudCredentials: {personalAccessToken: s3cret}\n"
	for name, tt := range map[string]struct {
		yaml     string
		want     func(Config) bool
		warnings []string
		problems []string
	}{
		"yes": {yaml: required + "instancesV2: {enabled: no}\nloadBalancer: {enabled: yes}",
			want: func(c Config) bool { return c.LoadBalancer.Enabled && !c.InstancesV2.Enabled },
			warnings: []string{"instancesV2.enabled: found no, which is taken as false; write false",
				"loadBalancer.enabled: found yes, which is taken as true; write true"}},
		"a cluster that is a number": {yaml: credentials + "cluster: 0012345", want: func(c Config) bool {
			return c.Cluster == "0012345"
		},
			warnings: []string{"cluster: found a number, which is taken as text; put it in quotes"}},
		"no timeout": {yaml: required + "loadBalancer: {creationPollTimeout: 0}", want: func(c Config) bool {
			return c.LoadBalancer.CreationPollTimeout == 300
		},
			warnings: []string{"loadBalancer.creationPollTimeout: found 0, which is taken as the default; write 300, " +
				"or leave it out"}},
		"a cluster in another notation": {yaml: credentials + "cluster: 0x1F",
			problems: []string{"cluster: found a number, want text (put it in quotes)"}},
		"a token and half a client": {yaml: strings.Replace(required, "personalAccessToken: s3cret",
			"personalAccessToken: s3cret, clientID: c", 1),
			problems: []string{"cloudCredentials: found personalAccessToken and clientID, want exactly one of " +
				"personalAccessToken, clientID with clientSecret, directory or workloadIdentity"}},
		"a key twice": {yaml: required + "cluster: other",
			problems: []string{"cluster: given twice, again in line 5; keep one"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, file, err := parseFile(strings.NewReader(tt.yaml), noEnvironment)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.problems, file.Problems().Lines()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, file.Warnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if tt.want != nil && !tt.want(c) {
				t.Errorf("configuration %+v", c)
			}
		})
	}
}

func TestReadConfig(t *testing.T) {
	if _, err := Scope("/does/not/exist.yaml", nothing()); err == nil ||
		!strings.Contains(err.Error(), "/does/not/exist.yaml") {
		t.Errorf("error = %v, want one that names the file", err)
	}
	if _, err := Scope(fileWith(t, "a: ["), nothing()); err == nil ||
		!strings.Contains(err.Error(), "parsing YAML") {
		t.Errorf("error = %v, want one about YAML", err)
	}
	if _, err := Scope(fileWith(t, required+"endpoint: x"), nothing()); err == nil ||
		!strings.Contains(err.Error(), "endpoint") {
		t.Errorf("error = %v, want one that names the key", err)
	}
	// What the file refers to does not matter yet.
	c, err := Scope(fileWith(t, required+"caBundle: /does/not/exist"), nothing())
	if err != nil || c["cluster"] != "k8s-1" {
		t.Errorf("scope %v, error %v", c, err)
	}
}

// TestPrefixesDoNotOverlap: no label of a server is meant for both.
func TestPrefixesDoNotOverlap(t *testing.T) {
	const path = "instancesV2.taintPrefix: found a prefix that overlaps with labelPrefix, want two prefixes of which " +
		"neither begins with the other"
	for prefixes, want := range map[string][]string{
		`labelPrefix: node/, taintPrefix: taint/`: nil,
		`labelPrefix: node/`:                      nil,
		`labelPrefix: node/, taintPrefix: node/`:  {path},
		`labelPrefix: node/, taintPrefix: no`:     {path},
		`labelPrefix: n, taintPrefix: node/`:      {path},
	} {
		_, problems := parse(t, required+"instancesV2: {"+prefixes+"}", noEnvironment)
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefixes, diff)
		}
	}
}

func FuzzConfig(f *testing.F) {
	const planted = "hunter2"
	f.Add(required)
	f.Add("cloudCredentials: {directory: /nowhere}\nendpoint: https://hunter2@x\ncluster: ' hunter2'")
	f.Add("cloudCredentials:\n  workloadIdentity: {serviceAccountID: 'hunter2 '}\nadditionalLabels: {a: 'hunter2 '}")
	f.Add("cloudCredentials: {personalAccessToken: hunter2, clientSecret: hunter2}\norganisation: [hunter2]")
	f.Fuzz(func(t *testing.T, text string) {
		c, file, err := parseFile(strings.NewReader(text), noEnvironment)
		if err == nil {
			err = file.Err()
		}
		if err == nil && (c.VPCIdentity == "" || c.Cluster == "" || c.Organisation == "") {
			t.Errorf("accepted without VPC, cluster or organisation: %q", text)
		}
		// A key is a name and is repeated; a value never is.
		if err != nil && strings.Contains(err.Error(), planted) && !isKey(text, planted) {
			t.Errorf("%q: the secret is repeated: %v", text, err)
		}
	})
}

// isKey reports whether some key of the file has the text in it.
func isKey(file, text string) bool {
	var document yaml.Node
	return yaml.Unmarshal([]byte(file), &document) == nil && holdsKey(&document, text)
}

func holdsKey(node *yaml.Node, text string) bool {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && strings.Contains(child.Value, text) || holdsKey(child, text) {
			return true
		}
	}
	return false
}
