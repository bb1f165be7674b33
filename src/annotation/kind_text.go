package annotation

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// Word takes text that matches the expression completely; allowed says in words what that is. It is a regular
// expression of at most 100 characters, so that the API server judges the longest text.
func Word(expression, allowed string) Kind[string] {
	whole := completely(expression)
	compiled := pattern(whole)
	parse := func(text string) (string, error) {
		if !compiled().MatchString(text) {
			return "", fmt.Errorf("%q is not %s", text, allowed)
		}
		return text, nil
	}
	return Kind[string]{
		Allowed: allowed, Parse: parse,
		Condition: func(text string) string { return matching(text, whole) },
		Schema:    map[string]any{"pattern": whole},
	}
}

// pattern is a regular expression that is compiled when it is needed first: some take milliseconds, and most Services
// use few of them.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// completely is the pattern for the text from its beginning to its end.
func completely(pattern string) string { return "^(?:" + pattern + ")$" }

// matching is the condition that text matches the pattern. Go's quoted strings are CEL's, too, and so are its regular
// expressions.
func matching(text, pattern string) string {
	return fmt.Sprintf("%s.matches(%s)", text, strconv.Quote(pattern))
}
