package generate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"sigs.k8s.io/yaml"
)

// small is a registry whose policy fits into a test.
func small(reserved ...string) *annotation.Registry {
	registry := annotation.NewRegistry("lb.example.com/")
	annotation.Register(registry, annotation.Definition{Name: "some-mode"}, annotation.Enum(`a"b`), `a"b`)
	registry.Reserve(reserved...)
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
	policy := parse(t, AdmissionPolicy(small("later-")))
	if policy.FailurePolicy != "Ignore" {
		t.Errorf("failurePolicy %s: a broken policy would stop every Service", policy.FailurePolicy)
	}
	want := map[string]string{
		"bad_some_mode": `"some-mode" in variables.changed && !(variables.text["some-mode"] in ["a\"b"]) ? ` +
			`["annotation lb.example.com/some-mode: " + variables.shown["some-mode"] + " is not a\"b"] : []`,
		"known":    `size(variables.unknown) > 0 ? ["known are some-mode"] : []`,
		"problems": "variables.bad_some_mode + variables.unknown + variables.known",
	}
	got := map[string]string{}
	for name := range want {
		got[name] = variable(t, policy, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if unknown := variable(t, policy, "unknown"); !strings.Contains(unknown, `.substring(15)`) || !strings.Contains(unknown, `!(name in variables.names) && !name.startsWith("later-")`) {
		t.Errorf("unknown names: %s", unknown)
	}
}

// TestNothingIsLeftToFill: no placeholder of the texts may reach the API server.
func TestNothingIsLeftToFill(t *testing.T) {
	text := AdmissionPolicy(small("later-"))
	for _, placeholder := range []string{"PREFIX", "LENGTH", "DOMAIN", "NAMES", "RESERVED", "KNOWN"} {
		if strings.Contains(text, placeholder) {
			t.Errorf("the policy contains %s", placeholder)
		}
	}
}

func TestReservedNames(t *testing.T) {
	reserved := []string{"internal", "acl-", "sub.net"}
	if got, want := allowedNames([]string{"type"}, reserved), `"type": true, "internal": true, "sub.net": true`; got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	if got, want := outsideFamilies(reserved), ` && !name.startsWith("acl-")`; got != want {
		t.Errorf("families %q, want %q", got, want)
	}
	if got := outsideFamilies(nil); got != "" {
		t.Errorf("no families: %q", got)
	}
}

// TestAdmissionPolicyFiles: the chart's file is the policy, and says where it comes from.
func TestAdmissionPolicyFiles(t *testing.T) {
	files, err := admissionPolicy(small()).Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[policyFile])
	if len(files) != 1 || text != AdmissionPolicy(small()) || strings.Count(text, "make generate") != 1 {
		t.Errorf("files %v", files)
	}
}
