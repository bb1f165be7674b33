package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
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

// Allows says whether a text is allowed.
func (r Rule) Allows(text string) bool { return whole(r.Pattern, text) }

// check reports what the rule does not allow about the key at path.
func (r Rule) check(f *File, path string, value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		if text := value.String(); text != "" && !whole(r.Pattern, text) {
			f.Add(path, r.explain(text), "want "+r.Want)
		}
	case reflect.Map:
		r.checkMap(f, path, value)
	case reflect.Bool:
	default:
		if number := value.Int(); (r.Min != 0 || r.Max != 0) && (number < int64(r.Min) || number > int64(r.Max)) {
			f.Add(path, fmt.Sprint(number), "want "+r.Want)
		}
	}
}

// checkMap looks at every key and value of a mapping.
func (r Rule) checkMap(f *File, path string, value reflect.Value) {
	for _, key := range sortedKeys(value) {
		full := f.shownAs(join(path, key))
		switch text := value.MapIndex(reflect.ValueOf(key)).String(); {
		case r.Reserved != "" && strings.HasPrefix(key, r.Reserved):
			f.Add(full, "", fmt.Sprintf("keys that begin with %s are set by this program itself; want another key",
				r.Reserved))
		case !whole(r.Keys, key):
			f.Add(full, "a key that is not allowed", "want "+r.Want)
		case !whole(r.Pattern, text):
			f.Add(full, r.explain(text), "want "+r.Want)
		}
	}
}

func sortedKeys(mapping reflect.Value) []string {
	var keys []string
	for _, key := range mapping.MapKeys() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	return keys
}

func (r Rule) explain(text string) string {
	if r.Explain != nil {
		return r.Explain(text)
	}
	switch {
	case text == "":
		return "empty text"
	case strings.ContainsFunc(text, unicode.IsSpace):
		return "text with a blank or a line end in it"
	}
	return kindText
}

// whole says whether all of the text matches. A pattern is a constant of the program, and a test compiles each.
func whole(pattern, text string) bool {
	matched, err := regexp.MatchString(completely(pattern), text)
	return pattern == "" || (err == nil && matched)
}

// completely is the pattern for the text from its beginning to its end.
func completely(pattern string) string { return "^(?:" + pattern + ")$" }
