package seed

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// misfit is the first CIDR or IP address of a document that cannot be read, with its place, or nil. The YAML library
// says where all other errors are.
func misfit(content []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil || len(document.Content) == 0 {
		return err
	}
	return misfitIn(document.Content[0], reflect.TypeFor[Seed](), "")
}

func misfitIn(node *yaml.Node, t reflect.Type, place string) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.ScalarNode:
		return misfitScalar(node, t, place)
	case node.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range node.Content {
			if err := misfitIn(item, t.Elem(), fmt.Sprintf("%s[%d]", place, i)); err != nil {
				return err
			}
		}
	case node.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			field, found := fieldOf(t, key)
			if !found {
				continue
			}
			if err := misfitIn(node.Content[i+1], field, strings.TrimPrefix(place+"."+key, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}

func misfitScalar(node *yaml.Node, t reflect.Type, place string) error {
	var value encoding.TextUnmarshaler
	var want string
	switch t {
	case reflect.TypeFor[netip.Prefix]():
		value, want = new(netip.Prefix), "a CIDR such as 10.0.0.0/16"
	case reflect.TypeFor[netip.Addr]():
		value, want = new(netip.Addr), "an IP address such as 10.0.0.1"
	default:
		return nil
	}
	if value.UnmarshalText([]byte(node.Value)) == nil {
		return nil
	}
	return At(place, fmt.Errorf("line %d: %q is not %s", node.Line, node.Value, want))
}

// fieldOf is the type of the field of a struct that has a key in YAML.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == key {
			return field.Type, true
		}
		if options != "inline" {
			continue
		}
		if inner, found := fieldOf(field.Type, key); found {
			return inner, true
		}
	}
	return nil, false
}
