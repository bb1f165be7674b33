package declaration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// document is the OpenAPI document.
func document(t *testing.T) *openapi.Document {
	t.Helper()
	checker, err := openapitest.Shared()
	if err != nil {
		t.Fatal(err)
	}
	return checker.Document()
}

// undeclared are paths with PUT or DELETE that are no resources of a tool, with the reasons.
func undeclared() map[string]string {
	return map[string]string{
		"/v1/memberships/{id}": "members are those of the seed",

		"/v1/kubernetes/clusters/{id}/nodepools/{pool}/machines/{machine}": "the node pool creates its machines",

		"/v1/route-tables/{id}/routes":                 "replaces all routes, which are resources",
		"/v1/vpc-firewall-rules/{vpc}":                 "changes several rules, which are resources",
		"/v1/security-groups/{id}/ingress-rules/batch": "replaces a field of the security group",
		"/v1/security-groups/{id}/egress-rules/batch":  "replaces a field of the security group",
	}
}

// Every resource that is served has an entry in the table.
func TestEveryResourceIsDriven(t *testing.T) {
	document := document(t)
	missing := map[string]bool{}
	for path, operations := range document.Paths {
		if strings.HasPrefix(path, "/v1/") && (operations.Put != nil || operations.Delete != nil) {
			missing[path] = true
		}
	}
	for _, r := range newTable(t, "").Resources {
		if !missing[r.Path] {
			t.Errorf("testdata has %s, which is twice there, or nothing deletes it", r.Path)
		}
		delete(missing, r.Path)
	}
	for path, reason := range undeclared() {
		if !missing[path] {
			t.Errorf("%s has an exception (%s), and needs none", path, reason)
		}
		delete(missing, path)
	}
	for path := range missing {
		t.Errorf("nothing in testdata drives %s: add it", path)
	}
}

// Every field of a request is sent, or an exception says why not.
func TestEveryFieldIsSent(t *testing.T) {
	document := document(t)
	for _, r := range newTable(t, "").Resources {
		d, err := describe(document, r)
		if err != nil {
			t.Fatal(err)
		}
		for request, sent := range map[string]map[string]any{"POST": d.body(false), "PUT": d.body(true)} {
			known, rest := d.create, slices.Collect(maps.Keys(d.Unsent))
			if request == "PUT" {
				known, rest = d.change, append(rest, d.Fixed...)
			}
			checkFields(t, request+" "+r.Path, known, sent, rest)
		}
	}
}

// checkFields compares the fields that a request has with those that are sent, and with the rest.
func checkFields(t *testing.T, request string, known map[string]*openapi.Schema, sent map[string]any, rest []string) {
	t.Helper()
	for field := range known {
		_, isSent := sent[field]
		if !isSent && !slices.Contains(rest, field) {
			t.Errorf("%s: testdata does not send %s", request, field)
		}
	}
	for field := range sent {
		if known[field] == nil && known != nil {
			t.Errorf("%s: testdata sends %s, which the request does not have", request, field)
		}
	}
}

// Every way to authenticate that the document has is used.
func TestEveryCredentialIsUsed(t *testing.T) {
	document := document(t)
	unused := map[any]bool{}
	for scheme := range document.Components.SecuritySchemes {
		unused[scheme] = true
	}
	request := document.Components.Schemas["TokenRequest"]
	for _, field := range []string{"grant_type", "subject_token_type"} {
		for _, value := range request.Properties[field].Enum {
			unused[value] = true
		}
	}
	for _, w := range ways() {
		for _, used := range []string{w.scheme, w.grant, w.subject} {
			delete(unused, used)
		}
	}
	for what := range unused {
		t.Errorf("no way to authenticate uses %v", what)
	}
}
