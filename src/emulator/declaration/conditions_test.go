//go:build !race

package declaration

import (
	"reflect"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// branch is the part of a schema that its condition selects for a body, or nil.
func branch(s *openapi.Schema, body any) *openapi.Schema {
	if holds(s.If, body) {
		return s.Then
	}
	return s.Else
}

// holds is whether a body is as a condition says.
func holds(s *openapi.Schema, body any) bool {
	object, _ := body.(map[string]any)
	for _, name := range s.Required {
		if _, sent := object[name]; !sent {
			return false
		}
	}
	for name, part := range s.Properties {
		value, sent := object[name]
		text, _ := value.(string)
		switch {
		case !sent:
		case part.Const != nil && !reflect.DeepEqual(part.Const, value),
			part.Enum != nil && !slices.Contains(part.Enum, value),
			part.Minimum != nil && !atLeast(*part.Minimum, value),
			part.MinLength != nil && len(text) < *part.MinLength,
			part.MaxLength != nil && len(text) > *part.MaxLength:
			return false
		}
	}
	return true
}

// atLeast is whether a value is a number that is not less than another.
func atLeast(minimum float64, value any) bool {
	number, ok := value.(float64)
	return ok && number >= minimum
}
