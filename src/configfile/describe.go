package configfile

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// What values are called in problems. Text is only called text, and never repeated: it may be a secret at the wrong
// place.
const (
	kindText   = "text"
	kindBool   = "true or false"
	kindNumber = "a number"
	kindNull   = "null"
)

// kindOf names what a value is, without repeating it: where text is wanted, it may be a secret without quotes.
func kindOf(node *yaml.Node) string {
	if node.Style&yaml.TaggedStyle != 0 && node.Tag != "!!str" {
		return "a value with a tag" // which may claim to be a number and be text
	}
	switch node.Tag {
	case "!!map":
		return "a mapping"
	case "!!seq":
		return "a list"
	case "!!int", "!!float":
		return kindNumber
	case "!!bool":
		return kindBool
	case "!!timestamp":
		return "a date"
	case "!!null":
		return kindNull
	case "!!str":
		return kindText
	}
	return "a value with a tag"
}

// describe shows a value that should be a number or a boolean.
func describe(node *yaml.Node) string {
	if kind := kindOf(node); kind != kindNumber && kind != kindBool {
		return kind
	}
	return node.Value
}

// ordinary is what keys look like.
var ordinary = regexp.MustCompile(`^[0-9A-Za-z_./-]{1,63}$`)

// shown is how a key appears in a path. What does not look like a key may be anything, a secret with a colon in it
// included; an alias stands for a value elsewhere.
func shown(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode || !ordinary.MatchString(key.Value) {
		return fmt.Sprintf("(key in line %d)", key.Line)
	}
	return key.Value
}
