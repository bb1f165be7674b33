package chart

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// schemaURL is how Helm calls the schema of a chart.
const schemaURL = "file:///values.schema.json"

// refusedError says, in Helm's words, that values violate the schema of a chart.
type refusedError struct{ chart, problems string }

// Error implements error.
func (e refusedError) Error() string {
	return "values don't meet the specifications of the schema(s) in the following chart(s):\n" + e.chart + ":\n" +
		e.problems + "\n"
}

// Opened is a chart that is rendered many times: its files are read once and its schema is compiled once, which take
// more than half of the time of a Render. Its methods may be called at the same time.
type Opened struct {
	dir    string
	chart  *helmchart.Chart
	schema *jsonschema.Schema
}

// Open reads the chart in dir. Without a schema it takes any values. Helm writes into charts with dependencies,
// therefore the chart must have none.
func Open(dir string) (*Opened, error) {
	loaded, err := Load(dir)
	if err != nil {
		return nil, err
	}
	if len(loaded.Metadata.Dependencies) > 0 || len(loaded.Dependencies()) > 0 {
		return nil, fmt.Errorf("opening chart %q: it has dependencies; use Render", dir)
	}
	if len(loaded.Schema) == 0 {
		return &Opened{dir: dir, chart: loaded}, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(loaded.Schema))
	if err != nil {
		return nil, fmt.Errorf("reading the schema of chart %q: %w", dir, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("reading the schema of chart %q: %w", dir, err)
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of chart %q: %w", dir, err)
	}
	return &Opened{dir: dir, chart: loaded, schema: schema}, nil
}

// Render is the function Render for this chart.
func (o *Opened) Render(ctx context.Context, release Release) (manifest, notes string, err error) {
	manifest, notes, err = render(ctx, o.chart, release, o.check)
	if err != nil {
		return "", "", fmt.Errorf("rendering chart %q: %w", o.dir, err)
	}
	return manifest, notes, nil
}

// check returns the error of Helm for values that violate the schema. Helm itself compiles the schema each time, which
// takes longer than to render the chart.
func (o *Opened) check(all chartutil.Values) error {
	if o.schema == nil {
		return nil
	}
	err := o.schema.Validate(all.AsMap())
	if err == nil {
		return nil
	}
	problems := strings.TrimPrefix(err.Error(), "jsonschema validation failed with '"+schemaURL+"#'\n")
	return refusedError{o.chart.Name(), problems}
}
