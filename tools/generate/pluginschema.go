package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

// pluginSchemaFile is the JSON schema of the output of kubectl thalassa.
const pluginSchemaFile = "docs/reference/kubectl-thalassa.schema.json"

// pluginSchema makes the schema from the results themselves. It fails if the schema in the repository has the same
// version, and promises something that the results do not keep.
func pluginSchema() Generator {
	return Generator{Name: "schema of kubectl thalassa", Files: func(_ context.Context, root string) (map[string][]byte,
		error) {
		made := newOutputSchema(plugin.APIVersion)
		for kind, result := range plugin.Results() {
			if err := made.addKind(kind, reflect.TypeOf(result)); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(made.OneOf, func(x, y valueSchema) int { return strings.Compare(x.Ref, y.Ref) })
		if err := made.keeps(filepath.Join(root, filepath.FromSlash(pluginSchemaFile))); err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(made, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("writing the schema: %w", err)
		}
		return map[string][]byte{pluginSchemaFile: append(text, '\n')}, nil
	}}
}

// outputSchema is a JSON schema. Unknown fields are allowed everywhere, because fields may be added within a version.
type outputSchema struct {
	Schema string                  `json:"$schema"`
	Title  string                  `json:"title"`
	OneOf  []valueSchema           `json:"oneOf"`
	Defs   map[string]objectSchema `json:"$defs"`

	version string
}

// objectSchema is the schema of a struct.
type objectSchema struct {
	Type       string                 `json:"type"`
	Properties map[string]valueSchema `json:"properties"`
	Required   []string               `json:"required,omitempty"` // the others are absent if they are empty
}

// valueSchema is the schema of a value.
type valueSchema struct {
	Ref    string       `json:"$ref,omitempty"`
	Type   string       `json:"type,omitempty"`
	Format string       `json:"format,omitempty"`
	Const  string       `json:"const,omitempty"`
	Items  *valueSchema `json:"items,omitempty"`
}

const schemaOfDefs = "#/$defs/"

func newOutputSchema(version string) outputSchema {
	return outputSchema{Schema: "https://json-schema.org/draft/2020-12/schema", version: version,
		Title: "Output of kubectl thalassa with -o json or -o yaml", Defs: map[string]objectSchema{}}
}

// addKind adds a result that is written by itself.
func (s *outputSchema) addKind(kind string, result reflect.Type) error {
	if result.Name() != kind {
		return fmt.Errorf("the result of kind %s has the type %s, want the same name", kind, result)
	}
	if err := s.addObject(result); err != nil {
		return err
	}
	properties := s.Defs[kind].Properties
	properties["apiVersion"] = valueSchema{Const: s.version}
	properties["kind"] = valueSchema{Const: kind}
	s.OneOf = append(s.OneOf, valueSchema{Ref: schemaOfDefs + kind})
	return nil
}

// addObject adds a struct and those that it refers to, once.
func (s *outputSchema) addObject(of reflect.Type) error {
	if _, known := s.Defs[of.Name()]; known {
		return nil
	}
	object := objectSchema{Type: "object", Properties: map[string]valueSchema{}}
	s.Defs[of.Name()] = object
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "-" {
			continue
		}
		value, err := s.valueOf(field.Type)
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", field.Name, of, err)
		}
		if name == "" {
			return fmt.Errorf("field %s of %s has no name in JSON: add a tag", field.Name, of)
		}
		object.Properties[name] = value
		if !strings.Contains(options, "omit") {
			object.Required = append(object.Required, name)
		}
	}
	slices.Sort(object.Required)
	s.Defs[of.Name()] = object
	return nil
}

func (s *outputSchema) valueOf(of reflect.Type) (valueSchema, error) {
	switch of.Kind() {
	case reflect.String:
		return valueSchema{Type: "string"}, nil
	case reflect.Bool:
		return valueSchema{Type: "boolean"}, nil
	case reflect.Int:
		return valueSchema{Type: "integer"}, nil
	case reflect.Float64:
		return valueSchema{Type: "number"}, nil
	case reflect.Pointer:
		return s.valueOf(of.Elem())
	case reflect.Slice:
		items, err := s.valueOf(of.Elem())
		return valueSchema{Type: "array", Items: &items}, err
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return valueSchema{Type: "string", Format: "date-time"}, nil
		}
		return valueSchema{Ref: schemaOfDefs + of.Name()}, s.addObject(of)
	default:
		return valueSchema{}, fmt.Errorf("the schema has no type for %s", of)
	}
}

// keeps fails if the schema in a file is of the same version, and has a field that is gone, has another type, or may be
// absent now. Readers of the version rely on them.
func (s *outputSchema) keeps(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the schema of this version: %w", err)
	}
	var before outputSchema
	if err := json.Unmarshal(text, &before); err != nil {
		return fmt.Errorf("reading the schema %s of this version: %w", file, err)
	}
	var problems []error
	for _, kind := range slices.Sorted(maps.Keys(before.Defs)) {
		promised, now := before.Defs[kind], s.Defs[kind]
		if version, isResult := promised.Properties["apiVersion"]; isResult && version.Const != s.version {
			return nil // another version promises nothing
		}
		for _, name := range slices.Sorted(maps.Keys(promised.Properties)) {
			if !reflect.DeepEqual(promised.Properties[name], now.Properties[name]) ||
				slices.Contains(promised.Required, name) && !slices.Contains(now.Required, name) {
				problems = append(problems, fmt.Errorf("%s.%s is removed or changed", kind, name))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: raise APIVersion in src/plugin, because within a version fields are only added",
			errors.Join(problems...))
	}
	return nil
}
