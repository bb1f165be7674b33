package annotation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is a type of annotation value: how it is read and written, and what is allowed.
type Kind[T any] struct {
	Allowed string // ends the sentence `"x" is not …`
	Parse   func(text string) (T, error)
	Format  func(value T) string
}

// Bool takes true or false (also 1, 0, t, f, in any case, as strconv.ParseBool does).
func Bool() Kind[bool] {
	return Kind[bool]{Allowed: "true or false", Parse: strconv.ParseBool, Format: strconv.FormatBool}
}

// Int takes a whole number from minimum to maximum; unit ("seconds") may be empty.
func Int(minimum, maximum int, unit string) Kind[int] {
	allowed := fmt.Sprintf("a whole number from %d to %d", minimum, maximum)
	if unit != "" {
		allowed = fmt.Sprintf("a whole number of %s from %d to %d", unit, minimum, maximum)
	}
	parse := func(text string) (int, error) {
		number, err := strconv.Atoi(text)
		if err != nil || number < minimum || number > maximum {
			return 0, fmt.Errorf("%q is not %s", text, allowed)
		}
		return number, nil
	}
	return Kind[int]{Allowed: allowed, Parse: parse, Format: strconv.Itoa}
}

// Enum takes one of the given words, in exactly that case.
func Enum(words ...string) Kind[string] {
	allowed := "one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		allowed = words[0]
	}
	parse := func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%q is not %s", text, allowed)
		}
		return text, nil
	}
	return Kind[string]{Allowed: allowed, Parse: parse, Format: func(value string) string { return value }}
}
