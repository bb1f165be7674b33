package annotation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is a type of annotation value: how it is read, and what is allowed.
type Kind[T any] struct {
	Allowed string // ends the sentence `"x" is not …`
	Parse   func(text string) (T, error)
	// Condition is Parse's verdict as the API server can give it: a CEL expression that is true for exactly the texts
	// that Parse accepts, and no error for any. text is the CEL expression that gives the text.
	Condition func(text string) string
	// Schema is the part of a JSON schema for such texts, as far as a schema can describe it; nil is any text.
	Schema map[string]any
}

// Bool takes true or false (also 1, 0, t, f, True, TRUE …, as strconv.ParseBool does).
func Bool() Kind[bool] {
	// every text that ParseBool accepts
	words := []string{"true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1", "0"}
	return Kind[bool]{
		Allowed: "true or false", Parse: strconv.ParseBool, Condition: among(words),
		Schema: map[string]any{"enum": words},
	}
}

// Int takes a whole number from minimum to maximum, of at most 18 digits each; unit ("seconds") may be empty.
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
	return Kind[int]{
		Allowed: allowed, Parse: parse, Condition: within(minimum, maximum),
		Schema: map[string]any{"pattern": "^" + wholeNumber(minimum, maximum) + "$"},
	}
}

// within is true for whole numbers in that range, as strconv.Atoi reads them.
func within(minimum, maximum int) func(string) string {
	return func(text string) string {
		return fmt.Sprintf(`%s.matches("^%s$") && int(%s) >= %d && int(%s) <= %d`, text, wholeNumber(minimum, maximum),
			text, minimum, text, maximum)
	}
}

// wholeNumber is a regular expression for numbers that may be in the range. CEL's int() has an error for what is too
// large for it: no number in the range has more digits than its longer end.
func wholeNumber(minimum, maximum int) string {
	digits := max(len(strings.TrimPrefix(strconv.Itoa(minimum), "-")),
		len(strings.TrimPrefix(strconv.Itoa(maximum), "-")))
	return fmt.Sprintf("[+-]?0*[0-9]{1,%d}", digits)
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
	return Kind[string]{
		Allowed: allowed, Parse: parse, Condition: among(words),
		Schema: map[string]any{"enum": words},
	}
}

// among is true for exactly these words. Go's quoted strings are CEL's, too.
func among(words []string) func(string) string {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, strconv.Quote(word))
	}
	return func(text string) string { return text + " in [" + strings.Join(quoted, ", ") + "]" }
}
