// Package schematest checks the output of kubectl thalassa against its published schema.
package schematest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// Require checks what a command with these arguments printed, if that is JSON or YAML.
func Require(tb testing.TB, args []string, printed string) {
	tb.Helper()
	if printed == "" || !slices.Contains(args, "json") && !slices.Contains(args, "yaml") {
		return
	}
	schema, err := jsonschema.NewCompiler().Compile(checkout.Path(tb, "docs/reference/kubectl-thalassa.schema.json"))
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
