package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// exampleOf is the block with the example of a request's body, if there is one.
func exampleOf(body *openapi.RequestBody) string {
	for media, content := range body.Content {
		fields, _ := content.Example.(map[string]any)
		switch {
		case fields == nil:
			return ""
		case media != "application/json":
			return block("text", form(fields))
		}
		return block("json", inJSON(fields))
	}
	return ""
}

func block(language, text string) string { return fmt.Sprintf("\n```%s\n%s\n```\n", language, text) }

// form is an example as a form.
func form(fields map[string]any) string {
	values := url.Values{}
	for name, value := range fields {
		values.Set(name, fmt.Sprint(value))
	}
	return values.Encode()
}

// inJSON is an example in one line if it is short, and else with each field in a line of its own.
func inJSON(fields map[string]any) string {
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	var lines []string
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("%q: %s", name, value(fields[name], len(name))))
	}
	if short := "{" + strings.Join(lines, ", ") + "}"; len(short) <= maxRow && !strings.Contains(short, "\n") {
		return short
	}
	return "{\n  " + strings.Join(lines, ",\n  ") + "\n}"
}

// value is the value of a field of an example, in one line if the line with its name is short enough.
func value(v any, name int) string {
	const around = len(`  "": ,`)
	text, err := json.Marshal(v)
	if err == nil && len(text)+name+around > maxRow {
		text, err = json.MarshalIndent(v, "  ", "  ")
	}
	if err != nil {
		return err.Error()
	}
	return string(text)
}
