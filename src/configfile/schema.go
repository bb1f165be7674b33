package configfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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
	root := section()
	for _, entry := range entries {
		leaf, err := leafSchema(entry)
		if err != nil {
			return nil, err
		}
		root.put(entry, strings.Split(entry.Path, "."), leaf)
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

// section is the schema of a mapping with known keys.
func section() Schema {
	return Schema{"type": []string{"object", "null"}, "additionalProperties": false, "properties": map[string]Schema{}}
}

// put adds a key to the sections that its names lead through.
func (s Schema) put(entry Entry, names []string, leaf Schema) {
	properties := s["properties"].(map[string]Schema)
	if len(names) > 1 {
		if properties[names[0]] == nil {
			properties[names[0]] = section()
		}
		properties[names[0]].put(entry, names[1:], leaf)
		return
	}
	properties[names[0]] = leaf
	if entry.alwaysThere() {
		required, _ := s["required"].([]string)
		s["required"] = slices.Sorted(slices.Values(append(required, names[0])))
	}
}

// alwaysThere reports whether only the file can give the value.
func (k Key) alwaysThere() bool { return k.Required && k.Environment == "" }

func leafSchema(entry Entry) (Schema, error) {
	var example any
	if err := yaml.Unmarshal([]byte(entry.Example), &example); err != nil {
		return nil, fmt.Errorf("reading the example of key %s: %w", entry.Path, err)
	}
	s := Schema{"description": entry.sentence(), "examples": []any{example}}
	deflt := entry.value
	if !deflt.IsZero() || entry.Type == TypeBool || entry.Type == TypeNumber && entry.Rule.Min <= 0 {
		s["default"] = deflt.Interface()
	}
	switch entry.Type {
	case TypeText:
		maps.Copy(s, entry.textSchema())
		if entry.Rule.MaxLength > 0 {
			s["maxLength"] = entry.Rule.MaxLength
		}
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
	s, pattern := Schema{"type": []string{"string", "null"}}, "|"+e.Rule.Pattern
	if e.alwaysThere() {
		s, pattern = Schema{"type": "string", "minLength": 1}, e.Rule.Pattern
	}
	if e.Rule.Pattern != "" {
		s["pattern"] = completely(pattern)
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
