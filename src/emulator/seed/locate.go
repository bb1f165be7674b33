package seed

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// misfit is the first part of a document that a seed does not have, or not in this form, with its line and place, or
// nil.
func misfit(document *yaml.Node) error {
	if len(document.Content) == 0 {
		return nil
	}
	return located{tag: "yaml", seen: map[alias]bool{}}.misfit(document.Content[0], reflect.TypeFor[Seed]())
}

// located is a place in a document. The keys of structs there are those of their tags for YAML or JSON.
type located struct {
	tag, place string
	seen       map[alias]bool
}

// alias is what an alias of YAML leads to, as a type. It is read once: an anchor can contain itself, which decoding
// refuses, and aliases of aliases can have more parts than any machine can read.
type alias struct {
	anchor *yaml.Node
	as     reflect.Type
	tag    string
}

// at is another place in the document.
func (l located) at(place string) located {
	l.place = place
	return l
}

func (l located) under(key string) located { return l.at(strings.TrimPrefix(l.place+"."+key, ".")) }

func (l located) refuse(node *yaml.Node, format string, args ...any) error {
	text := fmt.Sprintf("line %d: ", node.Line) + fmt.Sprintf(format, args...)
	return &placed{path: cmp.Or(l.place, "the document"), text: text}
}

func (l located) misfit(node *yaml.Node, t reflect.Type) error {
	if node.Kind == yaml.AliasNode {
		way := alias{node.Alias, t, l.tag}
		if l.seen[way] {
			return nil
		}
		l.seen[way] = true
		return l.misfit(node.Alias, t)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value, is := reflect.TypeAssert[interface{ apiType() reflect.Type }](reflect.New(t)); is {
		l.tag = "json"
		return l.misfit(node, value.apiType())
	}
	switch {
	case null(node) || t.Kind() == reflect.Interface:
		return nil
	case !isLeaf(t) && node.Kind != kindOf(t):
		return l.refuse(node, "%s is not %s", formOf(node), wanted(t))
	case isLeaf(t):
		return l.misfitLeaf(node, t)
	case node.Kind == yaml.SequenceNode:
		return l.misfitList(node, t)
	}
	return l.misfitMapping(node, t)
}

func (l located) misfitList(node *yaml.Node, t reflect.Type) error {
	if t.Kind() == reflect.Array && len(node.Content) != t.Len() {
		return l.refuse(node, "a list of length %d is not %s", len(node.Content), wanted(t))
	}
	for i, item := range node.Content {
		at := l.at(fmt.Sprintf("%s[%d]", l.place, i))
		if null(item) && t.Elem().Kind() != reflect.Interface {
			return at.refuse(item, "null cannot be in a list: remove it, or give it a value")
		}
		if err := at.misfit(item, t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func (l located) misfitMapping(node *yaml.Node, t reflect.Type) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at, of := l.under(key.Value), t
		switch {
		case key.ShortTag() == "!!merge":
			if value.Kind == yaml.SequenceNode {
				of = reflect.SliceOf(t)
			}
		case t.Kind() == reflect.Map:
			of = t.Elem()
		default:
			if of = l.field(t, key.Value); of == nil {
				return at.refuse(key, "this key is unknown")
			}
		}
		if err := at.misfit(value, of); err != nil {
			return err
		}
	}
	return nil
}

func (l located) misfitLeaf(node *yaml.Node, t reflect.Type) error {
	decode := node.Decode
	if l.tag == "json" {
		decode = func(into any) error { return decodeJSON(node, into) }
	}
	if decode(reflect.New(t).Interface()) == nil {
		return nil
	}
	form := formOf(node)
	if node.Kind == yaml.ScalarNode {
		form = strconv.Quote(node.Value)
	}
	return l.refuse(node, "%s is not %s", form, wanted(t))
}

// field is the type of the field of a struct that has a key, or nil. Keys of JSON can be in any case.
func (l located) field(t reflect.Type, key string) reflect.Type {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get(l.tag), ",")
		switch {
		case options == "inline" || field.Anonymous && name == "":
			if inner := l.field(field.Type, key); inner != nil {
				return inner
			}
		case name == key || l.tag == "json" && strings.EqualFold(name, key):
			return field.Type
		}
	}
	return nil
}

func null(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

// isLeaf returns whether values of a type have no parts with places of their own.
func isLeaf(t reflect.Type) bool {
	switch reflect.New(t).Interface().(type) {
	case encoding.TextUnmarshaler, json.Unmarshaler:
		return true
	}
	return !slices.Contains([]reflect.Kind{reflect.Struct, reflect.Map, reflect.Slice, reflect.Array}, t.Kind())
}

// kindOf is what a type that is no leaf is in YAML.
func kindOf(t reflect.Type) yaml.Kind {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		return yaml.SequenceNode
	}
	return yaml.MappingNode
}

// formOf describes what is in a document, without a value, which can be a secret.
func formOf(node *yaml.Node) string {
	switch node.Kind { //nolint:exhaustive // others were resolved
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// wanted describes what must be in a document instead.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[netip.Prefix]():
		return "a CIDR such as 10.0.0.0/16"
	case reflect.TypeFor[netip.Addr]():
		return "an IP address such as 10.0.0.1"
	case reflect.TypeFor[time.Time]():
		return "a time such as 2026-01-02T15:04:05Z"
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 1h30m"
	}
	switch t.Kind() { //nolint:exhaustive // other kinds are numbers
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.Array:
		return fmt.Sprintf("a list of length %d", t.Len())
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	}
	return "a number of type " + t.Kind().String()
}
