// Package configfile decodes configuration files strictly: every key must be known and every value of the right type,
// and all problems are reported at once, each with the path of its key, what was found and what is allowed.
//
// It does not depend on a provider: a provider hands in a pointer to its own struct, filled with defaults, whose fields
// carry yaml tags, and a list of Keys that says what each key means and allows. Checks, reference page and JSON schema
// are made of that list.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
)

// Decode reads one YAML (or JSON) document for target, a pointer to a struct that contains the defaults. Keys are those
// of the struct.
//
// Supported are nested structs, strings, booleans, integers and map[string]string; every exported field needs a yaml
// tag. What is wrong with the content is in the File, whose Apply fills the target. The error is about reading or YAML
// syntax, or that keys and struct do not belong together, and there is no File then.
func Decode(r io.Reader, target any, keys []Key) (*File, error) {
	entries, err := Describe(reflect.ValueOf(target).Elem().Interface(), keys)
	if err != nil {
		return nil, err
	}
	document, err := parse(r)
	if err != nil {
		return nil, err
	}
	f := &File{
		target: target, entries: map[string]Entry{}, given: map[string]bool{}, origins: map[string]string{},
		keys: map[string]*yaml.Node{}, values: map[string]*yaml.Node{}, names: map[string]string{},
	}
	for _, entry := range entries {
		f.entries[entry.Path] = entry
	}
	f.values[""] = resolve(document.Content[0])
	f.content = f.value("", f.values[""])
	f.schema, err = compile(reflect.ValueOf(target).Elem().Interface(), keys)
	return f, err
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

// mapping reads a mapping. A known key with null or empty text is left out, so that it has its default.
func (f *File) mapping(path string, node *yaml.Node) map[string]any {
	values, known := map[string]any{}, f.known(path)
	f.eachKey(path, node, func(key, full string, value *yaml.Node) {
		decoded := f.value(full, value)
		absent := decoded == nil || decoded == "" && f.entries[full].Type == TypeText
		if !absent || !slices.Contains(known, key) {
			values[key], f.given[full] = decoded, true
		}
	})
	return values
}

// eachKey visits the keys of a mapping in the order of the file, and reports those that are given twice instead.
func (f *File) eachKey(path string, node *yaml.Node, visit func(key, path string, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key := resolve(node.Content[i]).Value
		full, line := join(path, key), node.Content[i].Line
		f.names[full] = join(path, shown(node.Content[i]))
		if seen[key] {
			f.Add(full, "", fmt.Sprintf("given twice, again in line %d; keep one", line))
			continue
		}
		seen[key] = true
		f.keys[full], f.values[full] = node.Content[i], resolve(node.Content[i+1])
		visit(key, full, f.values[full])
	}
}

// value returns what the schema validates for the value of a key.
func (f *File) value(path string, node *yaml.Node) any {
	entry := f.entries[path]
	if node.Kind == yaml.MappingNode && (entry.Type == TypeMapping || len(f.known(path)) > 0) {
		return f.mapping(path, node)
	}
	switch kindOf(node) {
	case kindNull:
		return nil
	case kindText:
		if older, meant := oldBool(node); meant && entry.Type == TypeBool {
			f.Warn(path, fmt.Sprintf("found %s, which is taken as %t; write %t", node.Value, older, older))
			return older
		}
		return node.Value
	case kindBool:
		return strings.EqualFold(node.Value, "true")
	case kindNumber:
		if entry.Digits && node.Tag == "!!int" && !strings.ContainsFunc(node.Value, notDigit) {
			f.Warn(path, "found a number, which is taken as text; put it in quotes")
			return node.Value
		}
		const exact = 1 << 53 // beyond it, floating-point numbers are no longer exact
		var number float64
		if node.Decode(&number) == nil && math.Abs(number) < exact {
			return number
		}
	}
	return []any{} // no key permits it
}

// oldBool reads what YAML 1.1 takes for a boolean and YAML 1.2 for text, if it has no quotes.
func oldBool(node *yaml.Node) (value, meant bool) {
	if node.Style != 0 {
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

func notDigit(r rune) bool { return r < '0' || r > '9' }

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
