// Package chartvalues reads the values.yaml of a Helm chart together with its comments, and makes of both what
// has to say the same: the JSON schema of the values, and a table of them for people.
//
// The comment above a value is its description; the first sentence is what the table says. Lines that begin with
// an @ are for this package:
//
//	# Required. Organisation that owns the machines.     the default is "required" in the table
//	# @schema {pattern: "^https?://", minLength: 1}      keywords of JSON schema, over those the default implies
//	# @default control-plane nodes                       the default in words, where the value does not show it
//	# @notnull                                           the value may not be null; every other one may
//
// A mapping with entries that have comments is closed: it takes
// no other keys. One whose entries have none is one value, and its @schema says what it takes.
package chartvalues

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value is one key of values.yaml.
type Value struct {
	// Path is the keys down to the value, with dots between them.
	Path string
	// Key is the last part of Path.
	Key string
	// Comment is what people read about it, on one line; sections may have none.
	Comment string
	// Required says that there is no usable default.
	Required bool
	// NotNull says that the templates need the value, so that it may not be null.
	NotNull bool
	// Words is the default in words, where the comment gives some.
	Words string
	// Rules are the keywords of JSON schema in the comment.
	Rules map[string]any
	// Default is the value in the file.
	Default any
	// Removed are names that earlier versions or other charts have, by path, and what to do instead. Only the root has
	// some, and only Schema uses them: the chart can say so only if the schema lets them pass.
	Removed map[string]string
	// Children are the values of a section, in the order of the file. A value without is a leaf.
	Children []*Value
}

// Parse reads a values.yaml. It fails if a leaf has no comment: no page would describe it.
func Parse(text []byte) (*Value, error) {
	var document yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&document); err != nil {
		return nil, fmt.Errorf("parsing values: %w", err)
	}
	root := &Value{}
	return root, root.read(document.Content[0])
}

// Leaves returns the values without children, in the order of the file.
func (v *Value) Leaves() []*Value {
	if len(v.Children) == 0 {
		return []*Value{v}
	}
	var found []*Value
	for _, child := range v.Children {
		found = append(found, child.Leaves()...)
	}
	return found
}

// read takes the value from a node. A mapping in which something has a comment is a section.
func (v *Value) read(node *yaml.Node) error {
	if err := node.Decode(&v.Default); err != nil {
		return fmt.Errorf("reading %s: %w", v.Path, err)
	}
	if node.Kind != yaml.MappingNode || !commented(node) {
		if v.Comment == "" {
			return fmt.Errorf("describing %s: there is no comment above it; say what it does", v.Path)
		}
		return nil
	}
	var problems []error
	for i := 0; i < len(node.Content); i += 2 {
		child, err := newValue(v.Path, node.Content[i])
		if err == nil {
			err = child.read(node.Content[i+1])
		}
		problems = append(problems, err)
		v.Children = append(v.Children, child)
	}
	return errors.Join(problems...)
}

// commented reports whether anything in a mapping has a comment.
func commented(mapping *yaml.Node) bool {
	for i := 0; i < len(mapping.Content); i += 2 {
		value := mapping.Content[i+1]
		if mapping.Content[i].HeadComment != "" || value.Kind == yaml.MappingNode && commented(value) {
			return true
		}
	}
	return false
}

// newValue reads the comment of a key.
func newValue(parent string, key *yaml.Node) (*Value, error) {
	v := &Value{Key: key.Value, Path: strings.TrimPrefix(parent+"."+key.Value, ".")}
	var words []string
	for line := range strings.Lines(key.HeadComment) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		directive, rest, _ := strings.Cut(line, " ")
		switch {
		case directive == "@schema":
			if err := yaml.Unmarshal([]byte(rest), &v.Rules); err != nil {
				return v, fmt.Errorf("reading @schema of %s: %w", v.Path, err)
			}
		case directive == "@default":
			v.Words = rest
		case directive == "@notnull":
			v.NotNull = true
		case strings.HasPrefix(directive, "@"):
			return v, fmt.Errorf("describing %s: there is no %s; use @schema, @default or @notnull", v.Path, directive)
		case line != "":
			words = append(words, line)
		}
	}
	v.Comment = strings.Join(words, " ")
	v.Comment, v.Required = strings.CutPrefix(v.Comment, "Required. ")
	return v, nil
}
