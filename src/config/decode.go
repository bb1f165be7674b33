// Package config decodes configuration files strictly: every key must be known and every value of the right type, and all
// problems are reported at once, each with the path of its key, what was found and what is allowed.
//
// It knows no provider: a provider hands in a pointer to its own struct, filled with defaults, whose fields carry yaml tags.
package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/spelling"
)

// Decode reads one YAML (or JSON) document into target, a pointer to a struct.
//
// Supported are nested structs, strings, booleans, integers and map[string]string; every exported field needs a yaml tag.
// Keys that are absent, or null, leave the field as it was, so defaults are what target held before.
// The returned Problems are about the content; the error is about reading or YAML syntax, and excludes them.
func Decode(r io.Reader, target any) (Problems, error) {
	decoder := yaml.NewDecoder(r)
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, fmt.Errorf("parsing YAML: %w", withoutText(err))
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one YAML document; keep one")
	}
	var problems Problems
	decodeStruct("", document.Content[0], reflect.ValueOf(target).Elem(), &problems)
	return problems, nil
}

func decodeStruct(path string, node *yaml.Node, target reflect.Value, problems *Problems) {
	if node.Kind != yaml.MappingNode {
		problems.Add(path, describe(node), "want a mapping of keys to values")
		return
	}
	fields := fieldsByKey(target)
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, resolve(node.Content[i+1])
		field, known := fields[key]
		switch {
		case seen[key]:
			problems.Add(join(path, key), "", fmt.Sprintf("given twice, again in line %d; keep one", node.Content[i].Line))
		case !known:
			problems.Add(join(path, key), "", unknownKey(key, node.Content[i].Line, fields))
		case value.Tag != "!!null":
			decodeValue(join(path, key), value, field, problems)
		}
		seen[key] = true
	}
}

func decodeValue(path string, node *yaml.Node, target reflect.Value, problems *Problems) {
	switch target.Kind() {
	case reflect.Struct:
		decodeStruct(path, node, target, problems)
	case reflect.Map:
		decodeMap(path, node, target, problems)
	case reflect.String:
		if node.Kind != yaml.ScalarNode || node.Tag != "!!str" {
			problems.Add(path, kindOf(node), "want text (put it in quotes)")
			return
		}
		target.SetString(node.Value)
	case reflect.Bool:
		if node.Tag != "!!bool" {
			problems.Add(path, describe(node), "want true or false")
			return
		}
		target.SetBool(strings.EqualFold(node.Value, "true"))
	default:
		var number int64
		if node.Tag != "!!int" || node.Decode(&number) != nil || target.OverflowInt(number) {
			problems.Add(path, describe(node), "want a whole number")
			return
		}
		target.SetInt(number)
	}
}

func decodeMap(path string, node *yaml.Node, target reflect.Value, problems *Problems) {
	if node.Kind != yaml.MappingNode {
		problems.Add(path, describe(node), "want a mapping of text to text")
		return
	}
	decoded := reflect.MakeMap(target.Type())
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, resolve(node.Content[i+1])
		if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
			problems.Add(join(path, key), kindOf(value), "want text (put it in quotes)")
			continue
		}
		decoded.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value.Value))
	}
	target.Set(decoded)
}

func fieldsByKey(target reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		key, _, _ := strings.Cut(target.Type().Field(i).Tag.Get("yaml"), ",")
		fields[key] = target.Field(i)
	}
	return fields
}

func unknownKey(key string, line int, fields map[string]reflect.Value) string {
	known := slices.Sorted(maps.Keys(fields))
	if closest, found := spelling.Closest(key, known); found {
		return fmt.Sprintf("unknown key in line %d; did you mean %q?", line, closest)
	}
	return fmt.Sprintf("unknown key in line %d; known here are %s", line, strings.Join(known, ", "))
}

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// describe shows a value that should be a number or a boolean. Text could be a secret at the wrong place and is not repeated.
func describe(node *yaml.Node) string {
	switch node.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		return node.Value
	}
	return kindOf(node)
}

// kindOf names what a value is, without repeating it: where text is wanted, it may be a secret without quotes.
func kindOf(node *yaml.Node) string {
	switch node.Tag {
	case "!!map":
		return "a mapping"
	case "!!seq":
		return "a list"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	case "!!str":
		return "text"
	}
	return "a value with a tag"
}

// errAlias stands for the library's error, which repeats what follows the asterisk: part of a secret without quotes.
var errAlias = errors.New("a value begins with * or & without quotes; put it in quotes")

func withoutText(err error) error {
	if strings.Contains(err.Error(), "anchor") {
		return errAlias
	}
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
