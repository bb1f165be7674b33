package terminal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format is the value of --output.
type Format string

// The formats.
const (
	Text Format = ""
	Wide Format = "wide"
	JSON Format = "json"
	YAML Format = "yaml"
	Name Format = "name"
)

// Formats are the values of --output that have a name.
func Formats() []string { return []string{string(JSON), string(YAML), string(Wide), string(Name)} }

// ForPeople reports whether a person reads the output, and not a program.
func (f Format) ForPeople() bool { return f == Text || f == Wide }

// Check returns an error that names the allowed values.
func (f Format) Check() error {
	if f == Text || slices.Contains(Formats(), string(f)) {
		return nil
	}
	return fmt.Errorf("--output=%s: want one of %s", f, strings.Join(Formats(), ", "))
}

// Result is the result of a command. It is encoded as JSON and YAML by its own fields.
type Result interface {
	// Write writes the result for people. With wide, it contains more columns.
	Write(to Terminal, wide bool)
	// Names are the names of the objects in the form of kubectl: "service/web".
	Names() []string
}

// Report writes a result in a format.
func (t Terminal) Report(format Format, result Result) error {
	switch format {
	case JSON:
		encoder := json.NewEncoder(t.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("writing the result as JSON: %w", err)
		}
	case YAML:
		encoded, err := yaml.Marshal(result)
		if err != nil {
			return fmt.Errorf("writing the result as YAML: %w", err)
		}
		t.Print("%s", encoded)
	case Name:
		for _, name := range result.Names() {
			t.Print("%s\n", Clean(name))
		}
	default:
		result.Write(t, format == Wide)
	}
	return nil
}
