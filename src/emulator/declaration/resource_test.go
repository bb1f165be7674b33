// Package declaration drives every resource of the emulator as declarative tools do: create it, read it, see no
// difference, change it, import it by its identity, and delete it. What is read is compared with what was sent, field
// by field, under every answer of every switch, with delays, and with each way to authenticate.
//
// The resources are in testdata. A test compares them with the OpenAPI document, so that none is forgotten.
package declaration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// resource is what a tool declares of one resource. The document says the rest: which fields a request has, which of
// them are required, and how an object is read.
type resource struct {
	// Path is the path pattern that deletes an object. If it ends without a parameter, PUT creates the object.
	Path string
	// Collection is the path pattern that creates an object, if it is not the parent of Path.
	Collection string
	// Within is the object on the stage that the path is in, without the dollar sign.
	Within string
	// Inside is the key of the object on the stage that lists the objects, if no operation does.
	Inside string
	// Status are the statuses that do not end by themselves, if the object has a status.
	Status []string
	// Create and Change are the bodies of POST and PUT. $NAME is the identity of an object on the stage. A name, a
	// description, labels and annotations are added where the request has them.
	Create, Change map[string]any
	// Required are fields that are always sent, besides those of the document.
	Required []string
	// Reads are the fields of the answer with what was sent, where they have other names, as in "vpc.identity".
	Reads map[string]string
	// Defaults are the values of fields that were not sent, where they are not empty.
	Defaults map[string]any
	// Kept are fields that PUT keeps when they are left out, with every Switches.Updates; Keeps are all of them.
	Kept  []string
	Keeps bool
	// Fixed are fields of PUT that never change. Follows are fields of the answer that change with others.
	Fixed, Follows []string
	// Late are fields that reach their new value after a delay.
	Late []string
	// Unlisted are fields of the answer that lists leave out.
	Unlisted []string
	// Unread and Unsent are fields that do not read back, and that cannot be sent with the others, with the reasons.
	Unread, Unsent map[string]string
	// Answer is what POST and PUT answer with, if it is not the object: "other", or "none" for no content.
	Answer string
	// Refused is the status of each request, if the resource is not available.
	Refused int
	// When has what is different in some scenarios, by their names.
	When map[string]yaml.Node
}

// prop is an object on the stage: it is created before all resources, and they refer to it.
type prop struct {
	Name, Path string
	Body       map[string]any
	// Also are other objects that came with it: their names, and where their identities are.
	Also map[string]string
}

// table is what testdata contains.
type table struct {
	Stage     []prop
	Resources []*resource
	Actions   []action
}

// action is an operation with a body that neither creates nor changes an object: its method and path pattern, the
// object in the path, and the body.
type action struct {
	Operation, Of string
	Body          map[string]any
}

// newTable reads testdata for a scenario.
func newTable(t *testing.T, scenario string) *table {
	t.Helper()
	all := &table{}
	// Each refers to what those before it have on the stage.
	for _, name := range []string{"network", "balancing", "machine", "kubernetes", "identity"} {
		part, err := readTable(filepath.Join("testdata", name+".yaml"), scenario)
		if err != nil {
			t.Fatalf("reading %s: %v", name, err)
		}
		all.Stage, all.Resources = append(all.Stage, part.Stage...), append(all.Resources, part.Resources...)
		all.Actions = append(all.Actions, part.Actions...)
	}
	return all
}

func readTable(name, scenario string) (*table, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	part := &table{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(part); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, r := range part.Resources {
		if different, ok := r.When[scenario]; ok {
			if err := different.Decode(r); err != nil {
				return nil, fmt.Errorf("%s when %s: %w", r.Path, scenario, err)
			}
		}
	}
	return part, nil
}

// collection is the path pattern that creates objects.
func (r *resource) collection() string {
	switch {
	case r.Collection != "":
		return r.Collection
	case r.single():
		return r.Path
	}
	return path.Dir(r.Path)
}

// single is whether the path has one object at most, which has no identity of its own.
func (r *resource) single() bool { return !strings.HasSuffix(r.Path, "}") }

// described is a resource with what the document says about it.
type described struct {
	*resource
	create, change     map[string]*openapi.Schema
	required           []string
	filters            []string
	readable, listable bool
}

// describe looks a resource up in the document.
func describe(document *openapi.Document, r *resource) (*described, error) {
	one, all := document.Paths[r.Path], document.Paths[r.collection()]
	if one == nil || all == nil {
		return nil, fmt.Errorf("the OpenAPI document lacks %s or %s", r.Path, r.collection())
	}
	d := &described{resource: r, readable: one.Get != nil, listable: !r.single() && all.Get != nil}
	creation := all.Post
	if r.single() {
		creation = all.Put
	}
	d.create, d.required = fields(document, creation)
	d.change, _ = fields(document, one.Put)
	d.required = append(d.required, r.Required...)
	if d.listable {
		for _, p := range all.Get.Parameters {
			if p := document.Parameter(p); p.In == "query" {
				d.filters = append(d.filters, p.Name)
			}
		}
	}
	return d, nil
}

// fields are the fields of the body of an operation, and those that it requires.
func fields(document *openapi.Document, o *openapi.Operation) (map[string]*openapi.Schema, []string) {
	if o == nil || o.RequestBody == nil {
		return nil, nil
	}
	return fieldsOf(document, o.RequestBody.Content["application/json"].Schema)
}

// fieldsOf are the fields of a schema, and those that it requires.
func fieldsOf(document *openapi.Document, s *openapi.Schema) (map[string]*openapi.Schema, []string) {
	all, required := map[string]*openapi.Schema{}, []string{}
	var add func(*openapi.Schema)
	add = func(s *openapi.Schema) {
		if s.Ref != "" {
			add(document.Components.Schemas[openapi.Named(s.Ref)])
		}
		for _, part := range s.AllOf {
			add(part)
		}
		maps.Copy(all, s.Properties)
		required = append(required, s.Required...)
	}
	add(s)
	return all, required
}

// usual are the values of fields that most resources have.
func usual(changed bool) map[string]any {
	if changed {
		return map[string]any{"name": "drive-changed", "description": "changed",
			"labels":      map[string]any{"drive": "changed", "more": "label"},
			"annotations": map[string]any{"example.com/note": "changed it"}}
	}
	return map[string]any{"name": "drive", "description": "created", "labels": map[string]any{"drive": "created"},
		"annotations": map[string]any{"example.com/note": "made it"}}
}

// body is the complete body of a request.
func (d *described) body(changed bool) map[string]any {
	known, own := d.create, d.Create
	if changed {
		known, own = d.change, d.Change
	}
	all := usual(changed)
	maps.DeleteFunc(all, func(key string, _ any) bool {
		return known[key] == nil || d.Unsent[key] != "" || changed && slices.Contains(d.Fixed, key)
	})
	maps.Copy(all, own)
	return all
}

// shortest is a body with only the fields that are required.
func (d *described) shortest(body map[string]any) map[string]any {
	short := map[string]any{}
	for _, key := range d.required {
		if value, ok := body[key]; ok {
			short[key] = value
		}
	}
	return short
}

// reading is where the answer has a field.
func (d *described) reading(field string) string {
	if at, ok := d.Reads[field]; ok {
		return at
	}
	return field
}

// parsed is a value as JSON has it.
func parsed(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
