package emulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// written are the operations of the OpenAPI document that have a body in JSON, by method and path pattern.
func written(t *testing.T) map[string]*openapi.RequestBody {
	t.Helper()
	all := map[string]*openapi.RequestBody{}
	for path, item := range document(t).Paths {
		for method, operation := range item.Operations() {
			if body := operation.RequestBody; body != nil && body.Content["application/json"].Schema != nil {
				all[method+" "+path] = body
			}
		}
	}
	return all
}

// existing is the path of an operation that is about an object, and the object's project.
func existing(t *testing.T, e *Emulator, operation string) (path, project string) {
	t.Helper()
	_, pattern, _ := strings.Cut(operation, " ")
	rest, admin := strings.CutPrefix(pattern, "/_emulator/")
	switch {
	case rest == "clients/{id}":
		return "/_emulator/clients/" + DefaultClientID, ""
	case !strings.Contains(pattern, "{"):
		return pattern, ""
	case admin:
		// What the path names is listed by the API.
		pattern = "/v1/" + rest
	}
	for _, project := range []string{"", "shop"} {
		all := paths(t, e, project, pattern)
		switch {
		case len(all) > 0 && admin:
			return strings.Replace(all[0], "/v1/", "/_emulator/", 1), project
		case len(all) > 0:
			return all[0], project
		}
	}
	t.Fatalf("no object for %s: add one to overfilled", operation)
	return "", ""
}

// A request without a body is refused by those operations for which the OpenAPI document requires one.
func TestBodiesAreRequiredAsDescribed(t *testing.T) {
	e := overfilled(t)
	for operation, body := range written(t) {
		path, project := existing(t, e, operation)
		method, _, _ := strings.Cut(operation, " ")
		status, answer := tried(t, e, method, path, project, "")
		if (status == http.StatusBadRequest) != body.Required {
			t.Errorf("%s without a body = %d %s, and the document requires one: %t", operation, status, answer,
				body.Required)
		}
		if status < http.StatusBadRequest {
			e = overfilled(t) // the request changed the other
		}
	}
}

// tried is the answer to a request, whether it is accepted or not.
func tried(t *testing.T, e *Emulator, method, path, project, body string) (status int, answer string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Token "+DefaultToken)
	request.Header.Set("X-Project-Identity", project)
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}
