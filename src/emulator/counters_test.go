package emulator_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestOperations: whoever looks at everything that a cloud has takes the lists from here.
func TestOperations(t *testing.T) {
	c := newCloud(t)
	got := c.Operations()
	if !slices.IsSorted(got) {
		t.Errorf("%v are not sorted", got)
	}
	for _, want := range []string{"GET /v1/machines", "POST /v1/loadbalancers/{id}/listeners"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing among %v", want, got)
		}
	}
	for _, operation := range got {
		path, list := strings.CutPrefix(operation, "GET ")
		if !list || strings.Contains(path, "{") {
			continue
		}
		request := newRequest(t, "GET", path, "")
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
		if answer := serve(c, request); answer.Code != http.StatusOK {
			t.Errorf("%s = %d %s; a list needs no more than its path", operation, answer.Code, answer.Body)
		}
	}
}
