package configfile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Rule limits the values of a key beyond their type. The zero Rule allows everything.
type Rule struct {
	// Want is what is allowed, as the end of a sentence: "a whole number of seconds from 1 to 3600".
	Want string
	// Min and Max bound a whole number; both 0 is no bound.
	Min, Max int
	// Pattern is what a text, or every value of a mapping, must match completely. Empty text is not looked at: it
	// counts as absent. It is a regular expression that Go and JavaScript understand in the same way, for it is in the
	// schema as well.
	Pattern string
	// MaxLength bounds the characters of a text; 0 is no bound.
	MaxLength int
	// Keys is what every key of a mapping must match completely, Reserved what none may begin with.
	Keys, Reserved string
	// Explain says what is wrong with a text that does not match Pattern, without repeating it. Without Explain it is
	// called text.
	Explain func(text string) string
}

// Whole allows the whole numbers from minimum to maximum of a unit ("seconds"); the unit may be empty.
func Whole(minimum, maximum int, unit string) Rule {
	want := fmt.Sprintf("a whole number from %d to %d", minimum, maximum)
	if unit != "" {
		want = fmt.Sprintf("a whole number of %s from %d to %d", unit, minimum, maximum)
	}
	return Rule{Want: want, Min: minimum, Max: maximum}
}

// Matching allows text that matches the pattern completely; want says in words what that is.
func Matching(pattern, want string) Rule { return Rule{Want: want, Pattern: pattern} }

// Allows reports whether all of the text matches the pattern, which is a constant of the program.
func (r Rule) Allows(text string) bool {
	matched, err := regexp.MatchString(completely(r.Pattern), text)
	return r.Pattern == "" || (err == nil && matched)
}

func (r Rule) explain(text string) string {
	if r.Explain != nil {
		return r.Explain(text)
	}
	switch {
	case r.MaxLength > 0 && len(text) > r.MaxLength:
		return fmt.Sprintf("text of %d characters", len(text))
	case text == "":
		return "empty text"
	case strings.ContainsFunc(text, unicode.IsSpace):
		return "text with a blank or a line end in it"
	}
	return kindText
}

// completely is the pattern for the text from its beginning to its end.
func completely(pattern string) string { return "^(?:" + pattern + ")$" }
