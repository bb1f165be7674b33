package generate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"sigs.k8s.io/yaml"
)

func TestConfigPage(t *testing.T) {
	entry := func(path, typ string, k configfile.Key) configfile.Entry {
		k.Path, k.Effect, k.Example, k.Since = path, "Does "+path+".", "x", "1.2.3"
		return configfile.Entry{Key: k, Type: typ}
	}
	page := renderConfig(configured{introduction: "Begin.\n\n", ending: "End.\n",
		notes: map[string]string{"one": "Note.\n\n"}}, []configfile.Entry{
		entry("name", configfile.TypeText, configfile.Key{Required: true, Environment: "NAME"}),
		entry("one.a", configfile.TypeNumber, configfile.Key{Default: "5", Rule: configfile.Whole(1, 9, "")}),
		entry("other", configfile.TypeText, configfile.Key{Default: "what name says", Environment: "NAME"}),
		entry("one.b.c", configfile.TypeText, configfile.Key{}),
	})
	for _, want := range []string{
		"Begin.\n\n## Top level\n\n|",
		"| `name` | Does name. | text | required | `x` | 1.2.3 |\n| `other` | Does other. | text | what name says | " +
			"`x` | 1.2.3 |\n",
		"\n\n## `one`\n\nNote.\n\n|", "| `a` | Does one.a. | a whole number from 1 to 9 | `5` | `x` | 1.2.3 |\n",
		"| `b.c` | Does one.b.c. | text | none | `x` | 1.2.3 |\n",
		"| `NAME` | `name`, `other` |\nEnd.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestConfigPageWithoutEnvironment: a cloud without variables has no table of them.
func TestConfigPageWithoutEnvironment(t *testing.T) {
	page := renderConfig(configured{}, []configfile.Entry{
		{Key: configfile.Key{Path: "name"}, Type: configfile.TypeText},
	})
	if strings.Contains(page, "Environment") || strings.HasSuffix(page, "\n\n") {
		t.Errorf("page %q", page)
	}
}

// TestKeysAreDescribed: each key is described completely, and its own example is accepted.
func TestKeysAreDescribed(t *testing.T) {
	for _, of := range configuredClouds() {
		for _, key := range of.keys {
			if key.Example == "" || key.Since == "" || !strings.HasSuffix(key.Effect, ".") {
				t.Errorf("%s: key %s is not described completely: %+v", of.cloud, key.Path, key)
			}
			names := strings.Split(key.Path, ".")
			text := strings.Join(names, ": {") + ": " + key.Example + strings.Repeat("}", len(names)-1)
			target := reflect.New(reflect.TypeOf(of.defaults)).Interface()
			file, err := configfile.Decode(strings.NewReader(text), target, of.keys)
			if err != nil {
				t.Fatal(err)
			}
			file.Apply(of.keys, func(string) string { return "" })
			for _, problem := range file.Problems() { // other keys are missing
				if strings.HasPrefix(problem.Path, key.Path) {
					t.Errorf("%s: the example of a key is refused: %s", of.cloud, problem)
				}
			}
		}
	}
}

// validator is the check of a program of files at a path.
type validator func(path string, from cloud.Environment, files bool) (effective []byte, problems []string)

// verdict reports whether the program accepts a file, without reading what it refers to.
func (v validator) verdict(t *testing.T, file string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	_, problems := v(path, cloud.Environment{}, false)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

// verdict asks the program for Thalassa Cloud.
func verdict(t *testing.T, file string) error {
	t.Helper()
	return validator(thalassa.Validate).verdict(t, file)
}

// schema compiles the schema that is in the repository's reference.
func schema(t *testing.T, made func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := made()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft4) // so that only the schema's own $schema makes it a newer one
	if err := compiler.AddResource("cloud-config.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("cloud-config.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, file string) error {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

func TestShortestConfigWorks(t *testing.T) {
	if err := verdict(t, shortestConfig); err != nil {
		t.Error(err)
	}
}

// TestSchemaAgreesWithTheProgram asks both about the same files.
func TestSchemaAgreesWithTheProgram(t *testing.T) {
	compiled := schema(t, thalassa.ConfigSchema)
	for _, tt := range schemaCases() {
		t.Run(tt.name, func(t *testing.T) {
			program, schema := verdict(t, tt.file), validate(t, compiled, tt.file)
			if (program == nil) != tt.good {
				t.Errorf("the program says %v; good is %v", program, tt.good)
			}
			if (schema == nil) != tt.good {
				t.Errorf("the schema says %v; good is %v", schema, tt.good)
			}
		})
	}
}

// TestSchemaLeavesTheEnvironmentAside: these depend on variables that a schema cannot see.
func TestSchemaLeavesTheEnvironmentAside(t *testing.T) {
	compiled := schema(t, thalassa.ConfigSchema)
	for name, file := range map[string]string{
		"organisation":    "vpcIdentity: v\ncluster: c\ncloudCredentials: {personalAccessToken: t}",
		"credentials":     "organisation: o\nvpcIdentity: v\ncluster: c",
		"empty section":   "organisation: o\nvpcIdentity: v\ncluster: c\ncloudCredentials: {personalAccessToken: ''}",
		"service account": "organisation: o\nvpcIdentity: v\ncluster: c\ncloudCredentials: {workloadIdentity: {}}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := validate(t, compiled, file); err != nil {
				t.Errorf("the schema says %v", err)
			}
			if verdict(t, file) == nil {
				t.Error("the program needs no variable for it: it belongs to the other test")
			}
		})
	}
}

// schemaCase is a file and what both have to say about it.
type schemaCase struct {
	name, file string
	good       bool
}

const (
	configCloud = "organisation: o\nvpcIdentity: v\ncluster: c\n"
	configGood  = configCloud + "cloudCredentials: {personalAccessToken: t}\n"
)

func schemaCases() []schemaCase {
	var cases []schemaCase
	for _, line := range goodLines() {
		cases = append(cases, schemaCase{"good " + line, configGood + line + "\n", true})
	}
	for _, line := range badLines() {
		cases = append(cases, schemaCase{"bad " + line, configGood + line + "\n", false})
	}
	for credentials, good := range credentialCases() {
		cases = append(cases, schemaCase{credentials, configCloud + "cloudCredentials: " + credentials + "\n", good})
	}
	for file, good := range wholeCases() {
		cases = append(cases, schemaCase{file, file, good})
	}
	return cases
}

// goodLines complete a good file.
func goodLines() []string {
	return []string{
		"", "project: null", "project: ''", "project: p-1", "endpoint: http://127.0.0.1:7443/",
		"endpoint: 'https://[::1]:443'", "endpoint: null",
		"insecure: true", "insecure: true\ncaBundle: ''", "insecure: false\ncaBundle: /ca.crt", "caBundle: /ca.crt",
		"additionalLabels: {}", "additionalLabels: null",
		"additionalLabels: {team: a, example.com/x: B_1.c-d, empty: ''}",
		"loadBalancer: null", "loadBalancer: {}",
		"loadBalancer: {enabled: false, creationPollInterval: 1, creationPollTimeout: 86400, driftPeriod: 0}",
		"loadBalancer: {creationPollInterval: 5.0}", "instancesV2: {enabled: null}",
		"inventory: {machineAge: 1, balancerAge: 3600}",
		"api: {callTimeout: 600, requestsPerSecond: 1000, burst: 1}", "defaultSubnet: s",
	}
}

// badLines spoil a good file.
func badLines() []string {
	return []string{
		"organization: x", "organisation2: x", "project: 5", "project: 'a b'", "project: a/b", "project: -a",
		"endpoint: x", "endpoint: https://", "endpoint: https://a/b",
		"endpoint: https://a?b", "endpoint: https://a#b", "endpoint: https://u:p@a", "endpoint: 'https://a '",
		"endpoint: ftp://a", "endpoint: 'https://a:1234567'",
		"insecure: 'true'", "insecure: 1", "insecure: true\ncaBundle: /ca.crt", "caBundle: [x]",
		"additionalLabels: [a]", "additionalLabels: {a: 1}", "additionalLabels: {a: null}", "additionalLabels: {'': a}",
		"additionalLabels: {'a b': c}",
		"additionalLabels: {k8s.thalassa.cloud/x: team}", "additionalLabels: {a: 'b c'}", "additionalLabels: {A/b: c}",
		"additionalLabels: {a: " + strings.Repeat("x", 64) + "}",
		"loadBalancer: 5", "loadBalancer: {enable: true}", "loadBalancer: {creationPollInterval: 0}",
		"loadBalancer: {creationPollInterval: 86401}",
		"loadBalancer: {creationPollInterval: 5.5}", "loadBalancer: {driftPeriod: -1}", "instancesV2: {enabled: 'no'}",
		"inventory: {machineAge: 0}",
		"inventory: {balancerAge: 3601}", "inventory: {age: 1}", "api: {callTimeout: 601}",
		"api: {requestsPerSecond: 0}", "api: {burst: 10001}", "api: {burst: many}",
	}
}

// credentialCases are values of cloudCredentials, and whether they are good.
func credentialCases() map[string]bool {
	return map[string]bool{
		"{personalAccessToken: t, clientID: '', directory: null}": true,
		"{clientID: i, clientSecret: 's s'}":                      true,
		"{directory: /d}":                                         true,
		"{workloadIdentity: {serviceAccountID: sa-1}}":            true,
		"{workloadIdentity: {serviceAccountID: sa-1, lifetime: 60, organisationID: o-1, subjectTokenFile: /t}}": true,
		"text":                                                    false,
		"{token: t}":                                              false,
		"{personalAccessToken: 5}":                                false,
		"{personalAccessToken: 'a b'}":                            false,
		"{clientID: i}":                                           false,
		"{clientSecret: s}":                                       false,
		"{clientID: i, clientSecret: ''}":                         false,
		"{clientID: i, clientSecret: \"a\\nb\"}":                  false,
		"{personalAccessToken: t, directory: /d}":                 false,
		"{personalAccessToken: t, clientID: i}":                   false,
		"{directory: /d, workloadIdentity: {}}":                   false,
		"{workloadIdentity: {serviceAccountID: 'sa 1'}}":          false,
		"{workloadIdentity: {serviceAccountID: s, lifetime: 59}}": false,
		"{workloadIdentity: {serviceAccountID: s, account: x}}":   false,
		"{workloadIdentity: sa-1}":                                false,
	}
}

// wholeCases are complete files, and whether they are good.
func wholeCases() map[string]bool {
	const rest = "cloudCredentials: {personalAccessToken: t}\n"
	return map[string]bool{
		"{organisation: o, vpcIdentity: v, cluster: c, cloudCredentials: {directory: /d}}":   true,
		"organisation: o\ncluster: c\n" + rest:                                               false,
		"organisation: o\nvpcIdentity: v\n" + rest:                                           false,
		"organisation: o\nvpcIdentity: null\ncluster: c\n" + rest:                            false,
		"organisation: o\nvpcIdentity: v\ncluster: ''\n" + rest:                              false,
		"organisation: o\nvpcIdentity: v\ncluster: " + strings.Repeat("c", 64) + "\n" + rest: false,
		"[]":   false,
		"text": false,
	}
}
