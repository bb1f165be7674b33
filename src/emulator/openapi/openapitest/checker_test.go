package openapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// problems are what a checker reports.
type problems []string

// Errorf implements openapitest.Reporter.
func (p *problems) Errorf(format string, arguments ...any) {
	*p = append(*p, fmt.Sprintf(format, arguments...))
}

// outcome is an exchange with a handler that answers as it says.
type outcome struct {
	request, body string
	anonymous     bool
	status        int
	kind, answer  string
	// want is part of the problem, or empty for none.
	want string
}

const (
	region = `{"identity":"r","name":"nl-01","slug":"nl-01","description":"","createdAt":"2026-01-01T00:00:00Z",` +
		`"updatedAt":"2026-01-01T00:00:00Z","objectVersion":1,"labels":{},"annotations":{},"zones":[]`
	refusal  = `{"message":"no"}`
	jsonType = "application/json"
)

func outcomes() map[string]outcome {
	const one, list = "GET /v1/regions/nl-01", "GET /v1/regions"
	return map[string]outcome{
		"as described": {request: one, status: 200, kind: jsonType, answer: region + "}"},
		"not modified": {request: one, status: 304},
		"not modified, with a body": {request: one, status: 304, kind: jsonType, answer: region + "}",
			want: "has a body"},
		"refused as described": {request: one, status: 404, kind: jsonType, answer: refusal},
		"unknown field": {request: one, status: 200, kind: jsonType, answer: region + `,"colour":"red"}`,
			want: "/colour"},
		"unknown field in a list": {request: list, status: 200, kind: jsonType, answer: "[" + region + `,"colour":1}]`,
			want: "/colour"},
		"wrong type": {request: one, status: 200, kind: jsonType, answer: strings.Replace(region, ":1,", `:"1",`,
			1) + "}",
			want: "/objectVersion: got string, want integer"},
		"wrong format": {request: one, status: 200, kind: jsonType,
			answer: strings.Replace(region, "2026-01-01T00:00:00Z", "today", 1) + "}", want: "/createdAt"},
		"missing field": {request: one, status: 200, kind: jsonType, answer: strings.Replace(region, `"slug"`,
			`"x"`, 1) +
			"}", want: "missing property 'slug'"},
		"no JSON": {request: one, status: 200, kind: jsonType, answer: "{",
			want: "reading the body {"},
		"no body":                {request: one, status: 200, kind: jsonType, want: "got null, want object"},
		"undescribed media type": {request: one, status: 200, kind: "text/plain", answer: "x", want: `"text/plain"`},
		"undescribed status":     {request: one, status: 202, want: "lacks this status"},
		"undescribed error": {request: one, status: 500, kind: jsonType, answer: refusal,
			want: "lacks this status"},
		"undescribed body": {request: "DELETE /v1/vpcs/a", status: 204, kind: jsonType, answer: "{}",
			want: "has a body"},
		"undescribed path":   {request: "GET /v1/unicorns", status: 200, want: "lacks this operation"},
		"undescribed method": {request: "PUT /v1/regions/nl-01", status: 200, want: "lacks this operation"},
		"what is not served": {request: "GET /v1/unicorns", status: 501, kind: jsonType, answer: refusal},
		"not served, and no error": {request: "GET /v1/unicorns", status: 501, kind: jsonType, answer: "{}",
			want: "message"},
		"no credentials": {request: one, anonymous: true, status: 200, kind: jsonType,
			answer: region + "}", want: "no credentials"},
		"wrong request is accepted": {request: "PUT /_emulator/quotas/machines", body: `{"maxUsage":"10"}`, status: 204,
			want: "/maxUsage: got string, want integer"},
		"wrong request is refused": {request: "PUT /_emulator/quotas/machines", body: `{"maxUsage":"10"}`, status: 400,
			kind: jsonType, answer: refusal},
		"a body that is needed": {request: "POST /v1/vpcs", status: 201, kind: jsonType, answer: "{}",
			want: "missing properties"},
		"wrong query": {request: "GET /_emulator/writes?last=some", status: 200, kind: jsonType, answer: "[]",
			want: "does not match pattern"},
		"wrong form": {request: "POST /oidc/token", body: "grant_type=password", status: 200, kind: jsonType,
			answer: `{"access_token":"a","token_type":"Bearer","expires_in":1}`, want: "/grant_type"},
		"undescribed request body": {request: "POST /v1/machines/m/stop", body: `{"force":true}`, status: 204,
			want: "it has a body"},
	}
}

// through lets a checker see the exchange, and returns what it reports.
func (o outcome) through(t *testing.T, checker *openapitest.Checker) (found problems) {
	t.Helper()
	handler := checker.Middleware(&found)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if o.kind != "" {
			w.Header().Set("Content-Type", o.kind)
		}
		w.WriteHeader(o.status)
		_, _ = io.WriteString(w, o.answer)
	}))
	method, path, _ := strings.Cut(o.request, " ")
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(o.body))
	if !o.anonymous {
		request.Header.Set("Authorization", "Token x")
	}
	handler.ServeHTTP(httptest.NewRecorder(), request)
	return found
}

// TestSamplingChecker: it compares one answer of each shape with each schema, and every body of a request.
func TestSamplingChecker(t *testing.T) {
	checker, err := openapitest.NewSampling()
	if err != nil {
		t.Fatal(err)
	}
	labels := func(labels string) outcome {
		o := outcomes()["as described"]
		o.answer = strings.Replace(o.answer, `"labels":{}`, `"labels":`+labels, 1)
		return o
	}
	fault := func(status int) outcome {
		rule := fmt.Sprintf(`{"id":"a","effect":{"kind":"status","status":%d}}`, status)
		return outcome{request: "POST /_emulator/faults", body: rule, status: 201, kind: jsonType,
			answer: `{"rule":{"effect":{"kind":"status","status":503}},"matched":0,"fired":0,"spent":false}`}
	}
	for i, step := range []struct {
		exchange outcome
		problems int
	}{
		{labels(`{"number":"a1"}`), 0}, {labels(`{"number":"a22"}`), 0}, {labels(`{"number":1}`), 1},
		{labels(`{"number":22}`), 1}, {labels(`{"number":"a"}`), 0}, {labels(`{"number":0}`), 1},
		{outcomes()["unknown field"], 1}, {outcomes()["undescribed media type"], 1},
		{fault(503), 0}, {fault(504), 0}, {fault(904), 1},
	} {
		if found := step.exchange.through(t, checker); len(found) != step.problems {
			t.Errorf("step %d: problems %q, want %d", i, found, step.problems)
		}
	}
}

func TestCheckerFindsWhatIsNotAsDescribed(t *testing.T) {
	checker, err := openapitest.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range outcomes() {
		t.Run(name, func(t *testing.T) {
			found := o.through(t, checker)
			switch {
			case o.want == "" && len(found) > 0:
				t.Errorf("problems %q, want none", found)
			case o.want != "" && (len(found) != 1 || !strings.Contains(found[0], o.want)):
				t.Errorf("problems %q, want one with %q", found, o.want)
			}
		})
	}
}

// An operation is used when it answers with 2xx, or with 501 if the document has it.
func TestMissed(t *testing.T) {
	checker, err := openapitest.New()
	if err != nil {
		t.Fatal(err)
	}
	if missed := checker.Missed(); !slices.Equal(missed, checker.Operations()) {
		t.Errorf("%d operations are missed before the first request, want all", len(missed))
	}
	status := http.StatusNotFound
	handler := checker.Middleware(new(problems))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, refusal)
	}))
	for _, step := range []struct {
		method, path, operation string
		status                  int
		missed                  bool
	}{
		{"DELETE", "/v1/vpcs/a", "DELETE /v1/vpcs/{id}", http.StatusNotFound, true},
		{"DELETE", "/v1/vpcs/a", "DELETE /v1/vpcs/{id}", http.StatusNotImplemented, true},
		{"DELETE", "/v1/vpcs/a", "DELETE /v1/vpcs/{id}", http.StatusNoContent, false},
		{"GET", "/v1/machines/a/console", "GET /v1/machines/{id}/console", http.StatusNotFound, true},
		{"GET", "/v1/machines/a/console", "GET /v1/machines/{id}/console", http.StatusNotImplemented, false},
	} {
		status = step.status
		request := httptest.NewRequestWithContext(t.Context(), step.method, step.path, nil)
		request.Header.Set("Authorization", "Token x")
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if missed := slices.Contains(checker.Missed(), step.operation); missed != step.missed {
			t.Errorf("%s after %d: missed %t", step.operation, status, missed)
		}
	}
}
