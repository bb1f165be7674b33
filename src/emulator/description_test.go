package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The description is answered without credentials.
func TestDescriptionIsServed(t *testing.T) {
	e := newEmulator(t)
	answer := serve(e, newRequest(t, "GET", "/openapi.json", ""))
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatalf("GET /openapi.json = %d, %v", answer.Code, err)
	}
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(document.OpenAPI, "3.1.") || document.Paths["/v1/vpcs"]["get"] == nil {
		t.Errorf("GET /openapi.json = %d, version %q, %d paths", answer.Code, document.OpenAPI, len(document.Paths))
	}
}
