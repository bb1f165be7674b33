package configfile

import (
	"fmt"
	"maps"
	"reflect"
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
	TypeNumber  = "a whole number"
	TypeMapping = "a mapping of text to text"
)

// Entry is a Key together with what the struct says about it; the reference page is made of entries.
type Entry struct {
	Key
	Type string // one of the Type constants

	value reflect.Value // the default
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
		entries = append(entries, Entry{Key: key, Type: typeOf(leaf.value), value: leaf.value})
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
		nested := path
		if key := keyOf(value.Type().Field(i)); key != "" {
			nested = join(path, key)
		}
		found = append(found, leaves(nested, value.Field(i))...)
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

// fieldsByKey returns the fields of a section, with those of structs that it embeds.
func fieldsByKey(target reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		if key := keyOf(target.Type().Field(i)); key != "" {
			fields[key] = target.Field(i)
			continue
		}
		maps.Copy(fields, fieldsByKey(target.Field(i)))
	}
	return fields
}

// keyOf is the key that a field is decoded from; "" for an embedded struct.
func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return key
}
