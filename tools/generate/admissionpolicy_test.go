package generate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"sigs.k8s.io/yaml"
)

// small is a registry whose policy fits into a test.
func small() *annotation.Registry {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "some-mode"}, annotation.Enum(`a"b`), `a"b`)
	annotation.Register(registry, annotation.Definition{Name: "port-mode", PerPort: true}, annotation.Enum("x"), "x")
	annotation.RegisterFamily(registry, annotation.Definition{Name: "acl-"}, annotation.Enum("y"))
	registry.Decline(annotation.Declined{Name: "tls-", Why: "cannot be had"})
	registry.Decline(annotation.Declined{Name: "class", Why: `is "c"`})
	return registry
}

// spec is the part of a ValidatingAdmissionPolicy that these tests read.
type spec struct {
	FailurePolicy   string
	MatchConditions []struct{ Name, Expression string }
	Variables       []struct{ Name, Expression string }
	Validations     []struct{ Expression, Reason, Message, MessageExpression string }
}

func parse(t *testing.T, text string) spec {
	t.Helper()
	var parsed spec
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return parsed
}

func variable(t *testing.T, s spec, name string) string {
	t.Helper()
	for _, variable := range s.Variables {
		if variable.Name == name {
			return variable.Expression
		}
	}
	t.Fatalf("there is no variable %s", name)
	return ""
}

func TestAdmissionPolicy(t *testing.T) {
	policy := parse(t, AdmissionPolicy(small(), "docs/x.md"))
	if policy.FailurePolicy != "Ignore" {
		t.Errorf("failurePolicy %s: a broken policy would stop every Service", policy.FailurePolicy)
	}
	want := map[string]string{
		"names":         `{"acl-": true, "port-mode": true, "some-mode": false}`,
		"bad_some_mode": `"some-mode" in variables.text && !(variables.text["some-mode"] in ["a\"b"]) ? [["some-mode", "a\"b"]] : []`,
		"bad_port_mode": `variables.text.transformList(name, text, (name == "port-mode" || name in variables.ported && variables.ported[name] == "port-mode") && ` +
			`!(text in ["x"]), [name, "x"])`,
		"bad_acl": `variables.text.transformList(name, text, (name == "acl-" || name in variables.ported && variables.ported[name] == "acl-") && ` +
			`!(text in ["y"]), [name, "y"])`,
		"bad":   "variables.bad_acl + variables.bad_port_mode + variables.bad_some_mode",
		"known": `variables.unknown.exists(pair, pair[1] == "is not known and has no effect") ? ["known are acl-<port>, port-mode, some-mode"] : []`,
		"unknown": `variables.bases.transformList(name, base, !(base in variables.names), [name, ` +
			`name.split(".")[0].startsWith("tls-") && name.split(".")[0] != "tls-" ? "cannot be had" : name.split(".")[0] == "class" ? "is \"c\"" : ` +
			`"is not known and has no effect"])`,
	}
	got := map[string]string{}
	for name := range want {
		got[name] = variable(t, policy, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	for name, part := range map[string]string{
		"values": `name.startsWith("lb.example.com/")`,
		"bases":  `name.startsWith("acl-") ? "acl-" : ""`,
		"ported": `name.substring(size(base) + (base in ["acl-"] ? 0 : 1)) in variables.ports`,
	} {
		if text := variable(t, policy, name); !strings.Contains(text, part) {
			t.Errorf("%s: %s, want one with %s", name, text, part)
		}
	}
}

// TestPolicyWithoutFamilies: there is nothing to choose between.
func TestPolicyWithoutFamilies(t *testing.T) {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "mode"}, annotation.Enum("x"), "x")
	policy := parse(t, AdmissionPolicy(registry, "docs/x.md"))
	for name, part := range map[string]string{
		"bases":   `name.substring(0, name.indexOf(".")) : ""})`,
		"ported":  `name.substring(size(base) + 1) in variables.ports`,
		"unknown": `[name, "is not known and has no effect"])`,
	} {
		if text := variable(t, policy, name); !strings.Contains(text, part) {
			t.Errorf("%s: %s, want one with %s", name, text, part)
		}
	}
}

// TestNothingIsLeftToFill: no placeholder of the texts may reach the API server.
func TestNothingIsLeftToFill(t *testing.T) {
	text := AdmissionPolicy(small(), "docs/x.md")
	for _, placeholder := range []string{
		"PREFIX", "LENGTH", "DOMAIN", "NAMES", "KNOWN", "FAMILIES", "ENDS", "BAD", "DECLINED", "SHOWN", "JUDGED",
		"PAGE", "OTHERS", "FOREIGN", "PROBLEMS", "NOCLASS", "RANGES", "PAIRS", "EVERYWHERE",
	} {
		if strings.Contains(text, placeholder) {
			t.Errorf("the policy contains %s", placeholder)
		}
	}
}

// TestAdmissionPolicyFiles: the chart's file is the policy, and says where it comes from.
func TestAdmissionPolicyFiles(t *testing.T) {
	files, err := admissionPolicy(annotated{registry: small(), source: "src/example", policy: "files/policy.yaml",
		page: "docs/x.md"}).Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(files["files/policy.yaml"])
	if want := "# Made by \"make generate\" from the registry in src/example.\n\n"; len(files) != 1 ||
		text != want+AdmissionPolicy(small(), "docs/x.md") || !strings.Contains(text, "see docs/x.md\n") {
		t.Errorf("files %v", files)
	}
}
