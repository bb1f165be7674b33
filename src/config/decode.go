// Package config decodes configuration files strictly: every key must be known and every value of the right type, and
// all problems are reported at once, each with the path of its key, what was found and what is allowed.
//
// It does not depend on a provider: a provider hands in a pointer to its own struct, filled with defaults, whose fields
// carry yaml tags, and a list of Keys that says what each key means and allows. Checks, reference page and JSON schema
// are made of that list.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/spelling"
)

// Decode reads one YAML (or JSON) document into target, a pointer to a struct.
//
// Supported are nested structs, strings, booleans, integers and map[string]string; every exported field needs a yaml
// tag. Keys that are absent, null or empty text leave the field as it was, so defaults are what target held before.
// What is wrong with the content is in the File; the error is about reading or YAML syntax, and there is no File then.
func Decode(r io.Reader, target any) (*File, error) {
	document, err := parse(r)
	if err != nil {
		return nil, err
	}
	f := &File{
		target: reflect.ValueOf(target).Elem(),
		lines:  map[string]int{}, given: map[string]bool{}, numbers: map[string]string{}, origins: map[string]string{},
		aliases: map[string]string{},
	}
	f.decodeStruct("", resolve(document.Content[0]), f.target)
	return f, nil
}

// parse returns the only YAML document of a file.
func parse(r io.Reader) (*yaml.Node, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if isINI(content) {
		return nil, errors.New("the file is in the format INI, as cloud.conf of other clouds is; write it in YAML, " +
			"with the keys of this program: see " + build.Current().Document("docs/reference/names-from-elsewhere.md"))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, fmt.Errorf("parsing YAML: %w", withoutText(err))
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one YAML document; keep one")
	}
	return &document, nil
}

// isINI reports whether the first line that is not a comment is a section of an INI file, or a key of one. In YAML,
// such a line can only begin a list or a text, and a configuration is neither.
func isINI(content []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(content), "\uFEFF")) {
		if line = strings.TrimSpace(line); line != "" && !strings.ContainsAny(line[:1], "#;") {
			return iniLine.MatchString(line)
		}
	}
	return false
}

// iniLine is a section, [Global] or [LoadBalancer "internal"], or a key with a value.
var iniLine = regexp.MustCompile(`^(\[[A-Za-z][^\[\]{},:]*\](\s*[;#].*)?|[A-Za-z][\w.-]*\s*=([^:]|:\S)*)$`)

func (f *File) decodeStruct(path string, node *yaml.Node, target reflect.Value) {
	if node.Kind != yaml.MappingNode {
		f.report(path, node.Line, kindOf(node), "want a mapping of keys to values")
		return
	}
	fields := fieldsByKey(target)
	f.eachKey(path, node, func(key, path string, line int, value *yaml.Node) {
		field, known := fields[key]
		switch {
		case !known:
			f.report(path, line, "", unknownKey(key, line, fields))
		case isNull(value):
		default:
			f.given[path] = value.Kind != yaml.ScalarNode || value.Value != ""
			f.decodeValue(path, value, field)
		}
	})
}

// eachKey visits the keys of a mapping in the order of the file, and reports those that are given twice instead.
func (f *File) eachKey(path string, node *yaml.Node, visit func(key, path string, line int, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := resolve(node.Content[i]), resolve(node.Content[i+1])
		line := node.Content[i].Line
		full := join(path, shown(node.Content[i], line))
		f.aliases[join(path, key.Value)] = full
		if seen[key.Value] {
			f.report(full, line, "", fmt.Sprintf("given twice, again in line %d; keep one", line))
			continue
		}
		seen[key.Value] = true
		f.lines[full] = line
		visit(key.Value, full, line, value)
	}
}

func (f *File) decodeValue(path string, node *yaml.Node, target reflect.Value) {
	switch target.Kind() {
	case reflect.Struct:
		f.decodeStruct(path, node, target)
	case reflect.Map:
		f.decodeMap(path, node, target)
	case reflect.String:
		if kind := kindOf(node); kind != kindText {
			f.noteDigits(path, node)
			f.report(path, node.Line, kind, wantText)
		} else if node.Value != "" {
			target.SetString(node.Value)
		}
	case reflect.Bool:
		if older, meant := oldBool(node); meant {
			target.SetBool(older)
			f.Warn(path, fmt.Sprintf("found %s, which is taken as %t; write %t", node.Value, older, older))
			return
		}
		if kindOf(node) != kindBool {
			f.report(path, node.Line, describe(node), "want true or false")
			return
		}
		target.SetBool(strings.EqualFold(node.Value, "true"))
	default:
		number, whole := wholeNumber(node)
		if !whole || target.OverflowInt(number) {
			f.report(path, node.Line, describe(node), wantWhole)
			return
		}
		target.SetInt(number)
	}
}

func (f *File) decodeMap(path string, node *yaml.Node, target reflect.Value) {
	if node.Kind != yaml.MappingNode {
		f.report(path, node.Line, kindOf(node), "want a mapping of text to text")
		return
	}
	decoded := reflect.MakeMap(target.Type())
	f.eachKey(path, node, func(key, path string, line int, value *yaml.Node) {
		if kind := kindOf(value); kind != kindText {
			f.report(path, line, kind, wantText)
			return
		}
		decoded.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value.Value))
	})
	target.Set(decoded)
}

// oldBool reads what YAML 1.1 takes for a boolean and YAML 1.2 for text, if it has no quotes.
func oldBool(node *yaml.Node) (value, meant bool) {
	if node.Kind != yaml.ScalarNode || node.Style != 0 || node.Tag != "!!str" {
		return false, false
	}
	switch node.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// noteDigits records a whole number without quotes where text is wanted, as it is written.
func (f *File) noteDigits(path string, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Style == 0 && node.Tag == "!!int" &&
		!strings.ContainsFunc(node.Value, notDigit) {
		f.numbers[path] = node.Value
	}
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// wholeNumber reads 30 and 30.0, but not 30.5.
func wholeNumber(node *yaml.Node) (int64, bool) {
	if kindOf(node) != kindNumber {
		return 0, false
	}
	var number int64
	if node.Tag == "!!int" {
		return number, node.Decode(&number) == nil
	}
	fraction, err := strconv.ParseFloat(node.Value, 64)
	const exact = 1 << 53 // beyond it floating-point numbers are no longer exact
	return int64(fraction), err == nil && math.Abs(fraction) < exact && fraction == math.Trunc(fraction)
}

func fieldsByKey(target reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		fields[keyOf(target.Type().Field(i))] = target.Field(i)
	}
	return fields
}

// keyOf is the key that a field is decoded from.
func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return key
}

func unknownKey(key string, line int, fields map[string]reflect.Value) string {
	known := slices.Sorted(maps.Keys(fields))
	if closest, found := spelling.Closest(key, known); found {
		return fmt.Sprintf("unknown key in line %d; did you mean %q?", line, closest)
	}
	return fmt.Sprintf("unknown key in line %d; known here are %s", line, strings.Join(known, ", "))
}

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// errAlias stands for the library's error, which repeats what follows the asterisk: part of a secret without quotes.
var errAlias = errors.New("a value begins with * or & without quotes; put it in quotes")

func withoutText(err error) error {
	if strings.Contains(err.Error(), "anchor") {
		return errAlias
	}
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
