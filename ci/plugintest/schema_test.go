package plugintest

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// requireSchema checks what a command with these arguments printed, if that is JSON or YAML.
func (r *rig) requireSchema(args []string, printed string) {
	r.Helper()
	if printed == "" || !slices.Contains(args, "json") && !slices.Contains(args, "yaml") {
		return
	}
	schema, err := jsonschema.NewCompiler().Compile(
		filepath.Join(repotest.Root(r), "docs", "reference", "kubectl-thalassa.schema.json"))
	if err != nil {
		r.Fatal(err)
	}
	text, err := yaml.YAMLToJSON([]byte(printed))
	if err != nil {
		r.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		r.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		r.Errorf("%v prints what the schema does not describe: %v", args, err)
	}
}
