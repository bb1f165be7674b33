package emulator

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// written are the operations of the OpenAPI document that have a body in JSON, by method and path pattern.
func written(t *testing.T) (*openapi.Document, map[string]*openapi.RequestBody) {
	t.Helper()
	document, err := openapi.Read()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*openapi.RequestBody{}
	for path, item := range document.Paths {
		for method, operation := range item.Operations() {
			if body := operation.RequestBody; body != nil && body.Content["application/json"].Schema != nil {
				all[method+" "+path] = body
			}
		}
	}
	return document, all
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
	_, operations := written(t)
	for operation, body := range operations {
		e := overfilled(t)
		path, project := existing(t, e, operation)
		method, _, _ := strings.Cut(operation, " ")
		status, answer := tried(t, e, method, path, project, "")
		if (status == http.StatusBadRequest) != body.Required {
			t.Errorf("%s without a body = %d %s, and the document requires one: %t", operation, status, answer,
				body.Required)
		}
	}
}

// limited are the fields of a body, with their schemas.
func limited(document *openapi.Document, s *openapi.Schema) map[string]*openapi.Schema {
	if s.Ref != "" {
		s = document.Components.Schemas[openapi.Named(s.Ref)]
	}
	all := maps.Clone(s.Properties)
	if all == nil {
		all = map[string]*openapi.Schema{}
	}
	for _, part := range s.AllOf {
		maps.Copy(all, limited(document, part))
	}
	return all
}

// probes are values of a field at its limits, which are not refused, and beyond them.
func probes(s *openapi.Schema) (within, beyond []string) {
	number := func(limit *float64, step float64) {
		if limit != nil {
			within, beyond = append(within, fmt.Sprint(*limit)), append(beyond, fmt.Sprint(*limit+step))
		}
	}
	number(s.Minimum, -1)
	number(s.Maximum, 1)
	text := func(limit *int, step int) {
		if limit != nil {
			within = append(within, strconv.Quote(strings.Repeat("x", *limit)))
			beyond = append(beyond, strconv.Quote(strings.Repeat("x", *limit+step)))
		}
	}
	text(s.MinLength, -1)
	text(s.MaxLength, 1)
	return within, beyond
}

// The limits of fields in the OpenAPI document are those that updates have.
func TestLimitsAreAsDescribed(t *testing.T) {
	e := restarted(t, overfilled(t), Config{Switches: Switches{Updates: Merge}})
	document, operations := written(t)
	for operation, body := range operations {
		method, _, _ := strings.Cut(operation, " ")
		if method != http.MethodPut || strings.Contains(operation, "/_emulator/") {
			continue
		}
		path, project := existing(t, e, operation)
		for field, schema := range limited(document, body.Content["application/json"].Schema) {
			within, beyond := probes(schema)
			refusal := fmt.Sprintf(`field \"%s\"`, field)
			for _, value := range beyond {
				status, answer := tried(t, e, method, path, project, fmt.Sprintf(`{%q:%s}`, field, value))
				if status != http.StatusBadRequest || !strings.Contains(answer, refusal) {
					t.Errorf("%s with %s %s = %d %s, want 400", operation, field, value, status, answer)
				}
			}
			for _, value := range within {
				_, answer := tried(t, e, method, path, project, fmt.Sprintf(`{%q:%s}`, field, value))
				if strings.Contains(answer, refusal+" must") {
					t.Errorf("%s with %s %s is refused: %s", operation, field, value, answer)
				}
			}
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
