package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Key is one key of a file: what users read about it, and what it allows beyond its type.
type Key struct {
	Path    string // "loadBalancer.creationPollInterval"
	Effect  string // what it does, one or two sentences
	Example string // a value somebody would really write, as YAML on one line
	Since   string // the first version that has it
	Default string // in words, where the default is not a fixed value
	Rule    Rule
	// Environment is the variable that gives the value when the file does not; empty for none.
	Environment string
	// Required says that file or environment must give a value.
	Required bool
	// Secret values are never shown.
	Secret bool
	// Digits accepts a whole number without quotes as the text that it is written as, with a warning.
	Digits bool
}

// Types of values, as users read them.
const (
	TypeText    = "text"
	TypeBool    = "true or false"
	TypeNumber  = "whole number"
	TypeMapping = "mapping of text to text"
)

// Entry is a Key together with what the struct says about it; the reference page is made of entries.
type Entry struct {
	Key
	Type string // one of the Type constants
}

// Allowed is what values are allowed, in words.
func (e Entry) Allowed() string {
	if e.Rule.Want != "" {
		return e.Rule.Want
	}
	return e.Type
}

// Describe joins the keys with the struct they belong to, whose values are the defaults. The order is that of the
// struct. It fails if the struct has a field that no key describes, or a key describes what the struct does not have,
// so that neither can be forgotten.
func Describe(defaults any, keys []Key) ([]Entry, error) {
	byPath := map[string]Key{}
	for _, key := range keys {
		if _, twice := byPath[key.Path]; twice {
			return nil, fmt.Errorf("describing configuration: key %s is listed twice", key.Path)
		}
		byPath[key.Path] = key
	}
	var entries []Entry
	for _, leaf := range leaves("", reflect.ValueOf(defaults)) {
		key, listed := byPath[leaf.path]
		if !listed {
			return nil, fmt.Errorf("describing configuration: key %s is in the struct but not in the list of keys",
				leaf.path)
		}
		delete(byPath, leaf.path)
		if key.Default == "" {
			key.Default = inWords(leaf.value)
		}
		entries = append(entries, Entry{Key: key, Type: typeOf(leaf.value)})
	}
	for path := range byPath {
		return nil, fmt.Errorf("describing configuration: key %s is in the list of keys but not in the struct", path)
	}
	return entries, nil
}

// leaf is a field that holds a value, and not further keys.
type leaf struct {
	path  string
	value reflect.Value
}

func leaves(path string, value reflect.Value) []leaf {
	if value.Kind() != reflect.Struct {
		return []leaf{{path, value}}
	}
	var found []leaf
	for i := range value.NumField() {
		found = append(found, leaves(join(path, keyOf(value.Type().Field(i))), value.Field(i))...)
	}
	return found
}

func typeOf(value reflect.Value) string {
	switch value.Kind() {
	case reflect.String:
		return TypeText
	case reflect.Bool:
		return TypeBool
	case reflect.Map:
		return TypeMapping
	default:
		return TypeNumber
	}
}

// inWords shows a default as a user would write it; there are no defaults for mappings.
func inWords(value reflect.Value) string {
	switch value.Kind() {
	case reflect.String:
		return value.String()
	case reflect.Bool:
		return strconv.FormatBool(value.Bool())
	case reflect.Map:
		return ""
	default:
		return strconv.FormatInt(value.Int(), 10)
	}
}

// Apply takes from the environment what the file does not give, and reports every value that is missing or not allowed.
// getenv is os.Getenv, or stands for it. Of nested keys that are not listed nothing is taken and nothing checked.
func (f *File) Apply(keys []Key, getenv func(string) string) {
	for _, key := range keys {
		value := field(f.target, key.Path)
		if !value.IsValid() {
			continue // Describe reports it
		}
		if key.Digits {
			f.acceptDigits(key.Path, value)
		}
		if text := f.environment(key, getenv); text != "" {
			value.SetString(text)
			f.origins[key.Path] = key.Environment
		}
		if key.Required && value.String() == "" {
			f.Add(key.Path, "", missing(key))
			continue
		}
		if !value.IsZero() || f.Given(key.Path) { // a zero that nobody gave is a default in words
			key.Rule.check(f, key.Path, value)
		}
		f.complete(key)
	}
}

// acceptDigits takes a number without quotes at path as text.
func (f *File) acceptDigits(path string, value reflect.Value) {
	text, found := f.numbers[path]
	if !found || value.Kind() != reflect.String {
		return
	}
	value.SetString(text)
	f.problems = slices.DeleteFunc(f.problems, func(p Problem) bool { return p.Path == path && p.Want == wantText })
	f.Warn(path, "found a number, which is taken as text; put it in quotes")
}

// complete says of a value of the wrong type what else is wanted: "5s" for seconds needs the unit more than the type.
func (f *File) complete(key Key) {
	for i := range f.problems {
		if f.problems[i].Path == key.Path && f.problems[i].Want == wantWhole && key.Rule.Want != "" {
			f.problems[i].Want = "want " + key.Rule.Want
		}
	}
}

func (f *File) environment(key Key, getenv func(string) string) string {
	if key.Environment == "" || f.Given(key.Path) {
		return ""
	}
	return strings.TrimSpace(getenv(key.Environment))
}

func missing(key Key) string {
	if key.Environment != "" {
		return fmt.Sprintf("missing: want %s; the environment variable %s is not set either", key.Rule.Want,
			key.Environment)
	}
	return "missing: want " + key.Rule.Want
}
