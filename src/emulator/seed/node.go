package seed

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// nodeOf is a value of a seed in YAML. The YAML library writes some texts in a way in which it cannot read them again,
// such as one of several lines that begins with a tab. These are in double quotes here, which have an escape for
// everything.
func nodeOf(v reflect.Value) (*yaml.Node, error) {
	if isNil(v) {
		return scalar(nil)
	}
	switch value := v.Interface().(type) {
	case yaml.Marshaler:
		made, err := value.MarshalYAML()
		if node, is := made.(*yaml.Node); is || err != nil {
			return node, err
		}
		return nodeOf(reflect.ValueOf(made))
	case time.Time, time.Duration, encoding.TextMarshaler:
		return scalar(value)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return nodeOf(v.Elem())
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		return node, addFields(node, v)
	case reflect.Map:
		return mapNode(v)
	case reflect.Slice:
		return listNode(v)
	case reflect.String:
		return textNode(v.String())
	default:
		return scalar(v.Interface())
	}
}

func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

func scalar(value any) (*yaml.Node, error) {
	node := &yaml.Node{}
	return node, node.Encode(value)
}

// textNode is a text. The library chooses between plain text, quotes and several lines where it can read all of them.
func textNode(text string) (*yaml.Node, error) {
	if plainText(text) {
		return scalar(text)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}, nil
}

// plainText returns whether a text has only characters that YAML prints as they are, and does not begin with a space if
// it has several lines.
func plainText(text string) bool {
	return !strings.ContainsFunc(text, unprintable) &&
		!(strings.Contains(text, "\n") && strings.ContainsAny(text, "\t") || strings.HasPrefix(text, "\n"))
}

// unprintable returns whether YAML has a character only as an escape. YAML takes \u0085, \u2028 and \u2029 for ends of
// lines.
func unprintable(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r >= ' ' && r <= '~':
		return false
	case r == '\u2028' || r == '\u2029' || r == '\ufeff':
		return true
	}
	return r < '\u00a0' || r > '\ufffd' && r < 0x10000
}

// addFields adds the fields of a struct, without those that are empty.
func addFields(node *yaml.Node, v reflect.Value) error {
	for field, value := range v.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			if err := addFields(node, value); err != nil {
				return err
			}
			continue
		case name == "":
			return fmt.Errorf("field %s has no key", field.Name)
		case options == "omitempty" && empty(value):
			continue
		}
		if err := addEntry(node, name, value); err != nil {
			return err
		}
	}
	return nil
}

func addEntry(node *yaml.Node, key string, value reflect.Value) error {
	name, err := textNode(key)
	if err != nil {
		return err
	}
	content, err := nodeOf(value)
	node.Content = append(node.Content, name, content)
	return err
}

// empty returns whether a field with a value is left out.
func empty(v reflect.Value) bool {
	if isNil(v) {
		return true
	}
	if zero, is := reflect.TypeAssert[yaml.IsZeroer](v); is {
		return zero.IsZero()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !empty(field) {
				return false
			}
		}
		return true
	default:
		return v.IsZero()
	}
}

func mapNode(v reflect.Value) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		if err := addEntry(node, key.String(), v.MapIndex(key)); err != nil {
			return nil, err
		}
	}
	return node, nil
}

func listNode(v reflect.Value) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range v.Len() {
		item, err := nodeOf(v.Index(i))
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, item)
	}
	return node, nil
}

// jsonNode is a value in YAML that has the keys of its JSON.
func jsonNode(value any) (*yaml.Node, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	// JSON is YAML, if it contains only characters that YAML prints.
	var escaped strings.Builder
	for _, r := range string(content) {
		if unprintable(r) {
			fmt.Fprintf(&escaped, "\\u%04x", r)
			continue
		}
		escaped.WriteRune(r)
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(escaped.String()), &document); err != nil {
		return nil, err
	}
	return document.Content[0], nil
}
