package chart

import (
	"bytes"
	"context"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

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
	const name = "values.schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(loaded.Schema))
	if err != nil {
		return nil, fmt.Errorf("reading %s of chart %q: %w", name, dir, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("reading %s of chart %q: %w", name, dir, err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compiling %s of chart %q: %w", name, dir, err)
	}
	return &Opened{dir: dir, chart: loaded, schema: schema}, nil
}

// Render is the function Render for this chart. Helm itself checks the values that are not valid, for the error is
// its.
func (o *Opened) Render(ctx context.Context, release Release) (manifest, notes string, err error) {
	manifest, notes, err = render(ctx, o.chart, release, func(all chartutil.Values) bool {
		return o.schema == nil || o.schema.Validate(all.AsMap()) == nil
	})
	if err != nil {
		return "", "", fmt.Errorf("rendering chart %q: %w", o.dir, err)
	}
	return manifest, notes, nil
}
