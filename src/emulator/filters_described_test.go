package emulator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// TestFiltersAreDescribed: a list filters by the query keys that the OpenAPI document names, and ignores those that
// other lists have.
func TestFiltersAreDescribed(t *testing.T) {
	e := overfilled(t)
	document := document(t)
	keys, lists := map[string]bool{}, map[string]map[string]bool{} // the filters by path
	for path, item := range document.Paths {
		if item.Get == nil || !isList(document, item.Get) || !strings.HasPrefix(path, "/v1/") {
			continue
		}
		lists[path] = map[string]bool{}
		for _, one := range slices.Concat(item.Get.Parameters, item.Parameters) {
			if p := document.Parameter(one); p.In == "query" && p.Name != "project" {
				lists[path][p.Name], keys[p.Name] = true, true
			}
		}
	}
	for path, described := range lists {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if filters := isFilter(t, e, path, key); filters != described[key] {
				t.Errorf("GET %s filters by %s: %t; the document says %t", path, key, filters, described[key])
			}
		}
	}
}

// isList reports whether the document says that the answer of an operation is a list.
func isList(document *openapi.Document, operation *openapi.Operation) bool {
	response := operation.Responses["200"]
	if response == nil {
		return false
	}
	for _, media := range document.Response(response).Content {
		if media.Schema != nil && media.Schema.Items != nil {
			return true
		}
	}
	return false
}

// isFilter reports whether a value that no object has empties a list, which has objects.
func isFilter(t *testing.T, e *Emulator, pattern, key string) bool {
	t.Helper()
	query := "?" + key + "=none-such"
	if key == "matchLabels" {
		query = "?matchLabels[none]=such"
	}
	for _, path := range paths(t, e, "", pattern) {
		if all, _ := answer(t, e, "", path).([]any); len(all) > 0 {
			some, _ := answer(t, e, "", path+query).([]any)
			return len(some) == 0
		}
	}
	t.Errorf("GET %s has no object", pattern)
	return false
}
