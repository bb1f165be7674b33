package generate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

func TestExampleOfARequest(t *testing.T) {
	long := strings.Repeat("a", 80)
	for name, test := range map[string]struct{ content, want string }{
		"none":  {`{"application/json": {}}`, ""},
		"short": {`{"application/json": {"example": {"size": 1, "name": "a"}}}`, "json\n" + `{"name": "a", "size": 1}`},
		"long": {`{"application/json": {"example": {"b": "` + long + `", "a": "` + long + `"}}}`,
			"json\n{\n  \"a\": \"" + long + "\",\n  \"b\": \"" + long + "\"\n}"},
		"long field": {`{"application/json": {"example": {"a": ["` + long + `", "` + long + `"]}}}`,
			"json\n{\n  \"a\": [\n    \"" + long + "\",\n    \"" + long + "\"\n  ]\n}"},
		"form": {`{"application/x-www-form-urlencoded": {"example": {"b": 1, "a": "x y"}}}`, "text\na=x+y&b=1"},
	} {
		t.Run(name, func(t *testing.T) {
			body := &openapi.RequestBody{}
			if err := json.Unmarshal([]byte(`{"content": `+test.content+`}`), body); err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want != "" {
				want = "\n```" + want + "\n```\n"
			}
			if diff := cmp.Diff(want, exampleOf(body)); diff != "" {
				t.Errorf("the example differs (-want +got):\n%s", diff)
			}
		})
	}
}
