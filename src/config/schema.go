package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Schema is a part of a JSON schema.
type Schema map[string]any

// NewSchema makes the JSON schema (draft 2020-12) of a file, which accepts what Decode and Apply accept as far as that
// depends on the file alone: what the environment may give is not required. Conditions are added as they are; they say
// what several keys must be together. It fails where Describe fails.
func NewSchema(title string, defaults any, keys []Key, conditions ...Schema) ([]byte, error) {
	entries, err := Describe(defaults, keys)
	if err != nil {
		return nil, err
	}
	byPath := map[string]Entry{}
	for _, entry := range entries {
		byPath[entry.Path] = entry
	}
	root, err := sectionSchema("", reflect.ValueOf(defaults), byPath)
	if err != nil {
		return nil, err
	}
	root["type"] = "object"
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	if len(conditions) > 0 {
		root["allOf"] = conditions
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(text, '\n'), nil
}

// sectionSchema is the schema of a mapping with known keys.
func sectionSchema(path string, section reflect.Value, entries map[string]Entry) (Schema, error) {
	properties := map[string]Schema{}
	var required []string
	for key, value := range fieldsByKey(section) {
		full := join(path, key)
		if value.Kind() == reflect.Struct {
			nested, err := sectionSchema(full, value, entries)
			if err != nil {
				return nil, err
			}
			properties[key] = nested
			continue
		}
		entry := entries[full]
		leaf, err := leafSchema(entry, value)
		if err != nil {
			return nil, err
		}
		properties[key] = leaf
		if entry.alwaysThere() {
			required = append(required, key)
		}
	}
	s := Schema{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
	if slices.Sort(required); len(required) > 0 {
		s["required"] = required
	}
	return s, nil
}

// alwaysThere says that only the file can give the value.
func (k Key) alwaysThere() bool { return k.Required && k.Environment == "" }

func leafSchema(entry Entry, deflt reflect.Value) (Schema, error) {
	var example any
	if err := yaml.Unmarshal([]byte(entry.Example), &example); err != nil {
		return nil, fmt.Errorf("reading the example of key %s: %w", entry.Path, err)
	}
	s := Schema{"description": entry.sentence(), "examples": []any{example}}
	if !deflt.IsZero() || deflt.Kind() == reflect.Bool || entry.Type == TypeNumber && entry.Rule.Min <= 0 {
		s["default"] = deflt.Interface()
	}
	switch entry.Type {
	case TypeText:
		maps.Copy(s, entry.textSchema())
	case TypeMapping:
		maps.Copy(s, entry.Rule.mappingSchema())
	case TypeBool:
		s["type"] = []string{"boolean", "null"}
	case TypeNumber:
		s["type"] = []string{"integer", "null"}
		if entry.Rule.Min != 0 || entry.Rule.Max != 0 {
			s["minimum"], s["maximum"] = entry.Rule.Min, entry.Rule.Max
		}
	}
	return s, nil
}

func (e Entry) textSchema() Schema {
	if e.alwaysThere() {
		s := Schema{"type": "string", "minLength": 1}
		if e.Rule.Pattern != "" {
			s["pattern"] = completely(e.Rule.Pattern)
		}
		return s
	}
	s := Schema{"type": []string{"string", "null"}}
	if e.Rule.Pattern != "" {
		s["pattern"] = completely("|" + e.Rule.Pattern)
	}
	return s
}

func (r Rule) mappingSchema() Schema {
	values := Schema{"type": "string"}
	if r.Pattern != "" {
		values["pattern"] = completely(r.Pattern)
	}
	s := Schema{"type": []string{"object", "null"}, "additionalProperties": values}
	if r.Keys == "" && r.Reserved == "" {
		return s
	}
	// Not propertyNames: validators report those without saying which key of which mapping they mean.
	names := map[string]any{completely(cmp.Or(r.Keys, ".*")): values}
	if r.Reserved != "" {
		names["^"+strings.ReplaceAll(r.Reserved, ".", `\.`)] = false
	}
	s["patternProperties"], s["additionalProperties"] = names, false
	return s
}

// sentence is what an editor shows beside the key.
func (e Entry) sentence() string {
	text := fmt.Sprintf("%s Allowed: %s.", e.Effect, e.Allowed())
	if e.Environment != "" {
		text += " When the file does not say: the environment variable " + e.Environment + "."
	}
	return text + " Since " + e.Since + "."
}
