package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/spelling"
)

// Apply takes from the environment what the file does not give, validates everything by the schema, and fills the
// target with what is valid. getenv is os.Getenv, or stands for it. Keys that are not listed are not taken from the
// environment, and not required.
func (f *File) Apply(keys []Key, getenv func(string) string) {
	for _, key := range keys {
		if key.Environment != "" && !f.Given(key.Path) {
			f.take(key, strings.TrimSpace(getenv(key.Environment)))
		}
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(f.content)); ok {
		f.refuse(invalid)
	}
	text, err := yaml.Marshal(f.content)
	if err == nil {
		err = yaml.Unmarshal(text, f.target)
	}
	if err != nil {
		f.Add("", "a value that cannot be read", "want other values")
	}
	for _, key := range keys {
		if key.Required && field(reflect.ValueOf(f.target).Elem(), key.Path).IsZero() {
			f.Add(key.Path, "", missing(key))
		}
	}
}

// take puts the value of an environment variable into the content.
func (f *File) take(key Key, text string) {
	section, name := f.sectionOf(strings.Split(key.Path, "."))
	if text == "" || section == nil {
		return
	}
	section[name] = text
	f.values[key.Path] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	f.origins[key.Path] = key.Environment
}

// sectionOf returns the section that contains the last of the names, which it makes if there is none. It is nil if
// something else is in its place.
func (f *File) sectionOf(names []string) (section map[string]any, name string) {
	section, _ = f.content.(map[string]any)
	for _, name := range names[:len(names)-1] {
		if section != nil && section[name] == nil {
			section[name] = map[string]any{}
		}
		section, _ = section[name].(map[string]any)
	}
	return section, names[len(names)-1]
}

// compile makes a validator of the schema of the keys.
func compile(defaults any, keys []Key) (*jsonschema.Schema, error) {
	text, err := NewSchema("", defaults, keys)
	if err != nil {
		return nil, err
	}
	const name = "keys.json"
	compiler := jsonschema.NewCompiler()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = compiler.AddResource(name, document)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	return schema, nil
}

// refuse reports what the schema does not permit, and removes it from the content.
func (f *File) refuse(invalid *jsonschema.ValidationError) {
	for _, cause := range invalid.Causes {
		f.refuse(cause)
	}
	at := invalid.InstanceLocation
	switch reason := invalid.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Required: // Apply reports what is required
	case *kind.AdditionalProperties:
		for _, key := range reason.Properties {
			f.refuseKey(at, key)
		}
	default:
		found, want := f.judge(at)
		f.Add(strings.Join(at, "."), found, want)
		f.remove(at)
	}
}

// refuseKey reports a key that a section or a mapping may not have.
func (f *File) refuseKey(at []string, key string) {
	section := strings.Join(at, ".")
	path := join(section, key)
	if entry := f.entries[section]; entry.Type == TypeMapping {
		f.Add(path, "a key that is not allowed", "want "+entry.Allowed())
	} else {
		f.Add(path, "", unknownKey(key, f.keys[path].Line, f.known(section)))
	}
	f.remove(append(slices.Clip(at), key))
}

func (f *File) remove(at []string) {
	if len(at) == 0 {
		f.content = map[string]any{}
		return
	}
	section, name := f.sectionOf(at)
	delete(section, name)
}

// judge returns what was found at a path, and what is wanted. Text that may be a secret is not repeated.
func (f *File) judge(at []string) (found, want string) {
	path := strings.Join(at, ".")
	entry, node := f.entries[path], f.values[path]
	if len(f.known(path)) > 0 {
		return kindOf(node), "want a mapping of keys to values"
	}
	if entry.Type == "" { // a value in a mapping
		entry, entry.Type = f.entries[strings.Join(at[:len(at)-1], ".")], TypeText
		if reserved := entry.Rule.Reserved; reserved != "" && strings.HasPrefix(at[len(at)-1], reserved) {
			return "", fmt.Sprintf("keys that begin with %s are set by this program itself; want another key", reserved)
		}
	}
	switch {
	case entry.Type == TypeMapping:
		return kindOf(node), "want " + entry.Type
	case entry.Type == TypeText && kindOf(node) != kindText:
		return kindOf(node), "want text (put it in quotes)"
	case entry.Type == TypeText:
		return entry.Rule.explain(node.Value), "want " + entry.Allowed()
	}
	return describe(node), "want " + entry.Allowed()
}

func unknownKey(key string, line int, known []string) string {
	if closest, found := spelling.Closest(key, known); found {
		return fmt.Sprintf("unknown key in line %d; did you mean %q?", line, closest)
	}
	return fmt.Sprintf("unknown key in line %d; known here are %s", line, strings.Join(known, ", "))
}

func missing(key Key) string {
	if key.Environment != "" {
		return fmt.Sprintf("missing: want %s; the environment variable %s is not set either", key.Rule.Want,
			key.Environment)
	}
	return "missing: want " + key.Rule.Want
}
