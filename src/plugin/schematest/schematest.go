// Package schematest checks the output of kubectl thalassa against its published schema.
package schematest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// Require checks what a command with these arguments printed, if that is JSON or YAML. File is the path of the schema,
// docs/reference/kubectl-thalassa.schema.json.
func Require(tb testing.TB, file string, args []string, printed string) {
	tb.Helper()
	if printed == "" || !slices.Contains(args, "json") && !slices.Contains(args, "yaml") {
		return
	}
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := yaml.YAMLToJSON([]byte(printed))
	if err != nil {
		tb.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		tb.Errorf("%v prints what the schema does not describe: %v", args, err)
	}
}
