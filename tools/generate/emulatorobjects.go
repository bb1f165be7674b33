package generate

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// objects are the sections of the schemas of a part.
func (p *resourcePages) objects(name string) string {
	var text strings.Builder
	schemas := p.parts[name].Components.Schemas
	for _, schema := range slices.Sorted(maps.Keys(schemas)) {
		if !p.shown[schema] {
			continue
		}
		fmt.Fprintf(&text, "\n### %s\n\n%s\n", schema, wrapped(schemas[schema].Description))
		text.WriteString(p.object(schemas[schema], p.sent[schema]))
	}
	if text.Len() == 0 {
		return ""
	}
	return "\n## Objects\n" + text.String()
}

// object is the table of the fields of an object. An answer has some always. In requests, null is as good as nothing.
func (p *resourcePages) object(s *openapi.Schema, sent bool) string {
	fields := p.fields(s)
	if len(fields) == 0 && len(s.AnyOf) == 0 {
		return ""
	}
	if len(fields) == 0 {
		var kinds []string
		for _, one := range s.AnyOf {
			kinds = append(kinds, p.kind(one))
		}
		return "\nOne of: " + strings.Join(kinds, "; ") + ".\n"
	}
	answered := s.AdditionalProperties != nil || s.UnevaluatedProperties != nil
	table, values := "\n| Field | Type | Meaning |\n|---|---|---|\n", ""
	if answered {
		table = "\n| Field | Type | Always | Meaning |\n|---|---|---|---|\n"
	}
	for _, f := range fields {
		kind, meaning := p.kind(f.schema), p.meaning(f.schema)
		if !answered || sent {
			kind = strings.TrimSuffix(kind, " or null")
		}
		if answered {
			kind += " | " + map[bool]string{true: "yes", false: "no"}[f.always]
		}
		row := fmt.Sprintf("| `%s` | %s | %s |", f.name, kind, meaning+choice(f.schema))
		if len(row) > maxRow {
			row = fmt.Sprintf("| `%s` | %s | %s |", f.name, kind, meaning)
			values += wrapped(fmt.Sprintf("* `%s`:%s", f.name, choice(f.schema))) + "\n"
		}
		table += row + "\n"
	}
	if values != "" {
		table += "\n" + values
	}
	return table
}

// meaning is the description of a field.
func (p *resourcePages) meaning(s *openapi.Schema) string {
	return strings.ReplaceAll(oneLine(s.Description), "|", `\|`)
}

// choice are the values that a field can have, if they are limited.
func choice(s *openapi.Schema) string {
	values := enumerated(s)
	switch {
	case len(values) == 1:
		return " Always " + values[0] + "."
	case len(values) > 0:
		return " One of " + strings.Join(values, ", ") + "."
	case s.Items != nil && s.Items.Enum != nil:
		return " Any of " + strings.Join(enumerated(s.Items), ", ") + "."
	case s.Items != nil && s.Items.Minimum != nil && s.Items.Maximum != nil:
		return fmt.Sprintf(" Each %v to %v.", *s.Items.Minimum, *s.Items.Maximum)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(" %v to %v.", *s.Minimum, *s.Maximum)
	case s.Minimum != nil && *s.Minimum > 0:
		return fmt.Sprintf(" At least %v.", *s.Minimum)
	}
	return ""
}

// enumerated are the values that a field may have.
func enumerated(s *openapi.Schema) (values []string) {
	for _, value := range s.Enum {
		switch value {
		case nil:
		case "":
			values = append(values, "empty")
		default:
			values = append(values, fmt.Sprintf("`%v`", value))
		}
	}
	return values
}

// kind is the type of a value.
func (p *resourcePages) kind(s *openapi.Schema) string {
	switch {
	case s.Ref != "":
		return p.link(openapi.Named(s.Ref))
	case len(s.AnyOf) > 0:
		return p.kind(s.AnyOf[0]) + " or null"
	case s.Type == nil:
		return "anything"
	}
	types, several := s.Type.([]any)
	if !several {
		types = []any{s.Type}
	}
	var kinds []string
	for _, one := range types {
		kinds = append(kinds, p.single(one, s))
	}
	return strings.Join(kinds, " or ")
}

// single is a value of one type.
func (p *resourcePages) single(kind any, s *openapi.Schema) string {
	switch kind {
	case "string":
		return map[bool]string{true: "time", false: "text"}[s.Format == "date-time"]
	case "array":
		return "list of " + strings.TrimSuffix(p.kind(s.Items), " or null")
	case "object":
		return "object"
	}
	return fmt.Sprint(kind)
}

// link is a link to the section of a schema.
func (p *resourcePages) link(schema string) string {
	page := p.homes[schema] + ".md"
	switch p.homes[schema] {
	case p.current:
		page = ""
	case common:
		page = "README.md"
	}
	return fmt.Sprintf("[%s](%s#%s)", schema, page, strings.ToLower(schema))
}

// field is a field of an object.
type field struct {
	name   string
	schema *openapi.Schema
	always bool
}

// fields are the fields of a schema, with those that it takes over, in alphabetical order.
func (p *resourcePages) fields(s *openapi.Schema) []field {
	all := map[string]field{}
	needed := slices.Clone(s.Required)
	for _, other := range s.AllOf {
		taken := other
		if other.Ref != "" {
			taken = p.whole.Components.Schemas[openapi.Named(other.Ref)]
		}
		for _, f := range p.fields(taken) {
			all[f.name] = f
		}
	}
	for name, schema := range s.Properties {
		all[name] = field{name, schema, false}
	}
	var sorted []field
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		f.always = f.always || slices.Contains(needed, name)
		sorted = append(sorted, f)
	}
	slices.SortStableFunc(sorted, func(a, b field) int { return cmp.Compare(rank(a.name), rank(b.name)) })
	return sorted
}

// rank puts the fields that name an object first.
func rank(name string) int {
	first := []string{"identity", "name", "slug", "description"}
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// anchor is the fragment of a heading.
func anchor(heading string) string {
	plain := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(plain, " ", "-")
}

// quoted are names as code, separated by commas.
func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// oneLine is a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// wrapped is a text in lines that are not too long.
func wrapped(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > maxRow {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}
