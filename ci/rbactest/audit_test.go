package rbactest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const auditLines = `{"verb":"patch","user":{"username":"me"},"userAgent":"ccm/v1","requestReceivedTimestamp":"2026-11-21T10:00:00.000001Z","requestURI":"/api/v1/nodes/a/status","objectRef":{"resource":"nodes","name":"a","apiVersion":"v1","subresource":"status"},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC"}}
{"verb":"list","user":{"username":"me"},"userAgent":"ccm/v1","requestURI":"/apis/g/v1/namespaces/ns/leases?limit=1","objectRef":{"resource":"leases","namespace":"ns","apiGroup":"g"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"verb":"get","user":{"username":"me"},"userAgent":"ccm/v1","requestURI":"/version?timeout=5s","annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"patch","user":{"username":"me"},"userAgent":"ccm/v1","objectRef":{"resource":"leases","namespace":"ns","name":"a"},"responseStatus":{"code":201}}
`

func TestRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n")
	begin, err := Size(path)
	if err != nil {
		t.Fatal(err)
	}
	write("before\n" + auditLines + `{"verb":"half a li`)
	got, err := Requests(path, begin)
	if err != nil {
		t.Fatal(err)
	}
	inLine, err := Requests(path, begin-1)
	if diff := cmp.Diff(got, inLine); err != nil || diff != "" {
		t.Errorf("requests from within a line on: error %v (-want +got):\n%s", err, diff)
	}
	want := []Request{
		{Permission: Permission{User: "me", Verb: "patch", Resource: "nodes/status", Name: "a"},
			Received: time.Date(2026, 11, 21, 10, 0, 0, 1000, time.UTC), UserAgent: "ccm/v1", Allowed: true,
			Reason: "RBAC"},
		{Permission: Permission{User: "me", Verb: "list", Group: "g", Resource: "leases", Namespace: "ns"},
			UserAgent: "ccm/v1"},
		{Permission: Permission{User: "me", Verb: "get"}, UserAgent: "ccm/v1", Allowed: true, Path: "/version"},
		{Permission: Permission{User: "me", Verb: "patch", Resource: "leases", Namespace: "ns", Name: "a"},
			UserAgent: "ccm/v1", Created: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := Requests(path, 0); err == nil || !strings.Contains(err.Error(), "reading a line of the audit log") {
		t.Errorf("a line that is no JSON gives %v", err)
	}
}

func TestMissingAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := Size(path); err == nil {
		t.Error("a log that does not exist has a size")
	}
	if _, err := Requests(path, 0); err == nil {
		t.Error("a log that does not exist has requests")
	}
}

// TestByAccount: what counts is the account; a request of another program with it is mismatched.
func TestByAccount(t *testing.T) {
	by := func(user, agent string) Request {
		return Request{Permission: Permission{User: user, Verb: "get", Resource: "nodes"}, UserAgent: agent}
	}
	const program = programName + "/v1"
	const shared, kubernetes = "system:serviceaccount:kube-system:node-controller", "kube-controller-manager/v1"
	own, stolen, foreign, other := by("me", program), by("me", "curl/8"), by("you", program), by("you", "kubectl/v1")
	theirs, ours, kubernetesAsMe := by(shared, kubernetes), by(shared, program), by("me", kubernetes)
	granted := []Permission{{User: "me", Verb: "get", Resource: "services"},
		{User: shared, Verb: "get", Resource: "nodes"}}
	mismatched, done := ByAccount(granted, []Request{own, stolen, foreign, other, theirs, ours, kubernetesAsMe})
	if diff := cmp.Diff([]Request{stolen, foreign, kubernetesAsMe}, mismatched); diff != "" {
		t.Errorf("mismatched requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Request{own, stolen, ours, kubernetesAsMe}, done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
}
