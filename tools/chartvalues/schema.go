package chartvalues

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schema returns the JSON schema (draft-07) of the values. rules are keywords by path that are known from another
// source; those in a comment win over them. Every section is closed, unless its comment says otherwise. Beside the
// values it takes "enabled", by which a chart that includes this one switches it off.
//
// It requires no value: an editor validates a file of the user, which has only what differs from the defaults. What has
// no usable default, the chart's templates require.
func (v *Value) Schema(title string, rules map[string]map[string]any) ([]byte, error) {
	schema, err := v.schema(rules)
	if err != nil {
		return nil, err
	}
	for path, advice := range v.Removed {
		if err := pass(schema, path, advice); err != nil {
			return nil, err
		}
	}
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = title
	properties, _ := schema["properties"].(map[string]any)
	if properties["enabled"] == nil {
		properties["enabled"] = map[string]any{
			"type": "boolean", "description": "For charts that include this one; it has no effect of its own.",
		}
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of the values: %w", err)
	}
	return append(text, '\n'), nil
}

// pass lets a removed value through the schema, so that the chart can say what to do instead.
func pass(schema map[string]any, path, advice string) error {
	for rest := path; ; {
		key, further, more := strings.Cut(rest, ".")
		properties, _ := schema["properties"].(map[string]any)
		below, found := properties[key].(map[string]any)
		switch {
		case properties == nil || more && !found:
			return fmt.Errorf("letting the removed value %s pass: its section is not there any more; list the "+
				"section instead", path)
		case !more && found:
			return fmt.Errorf("letting the removed value %s pass: it is in values.yaml; remove it from there or from "+
				"the list", path)
		case !more:
			properties[key] = map[string]any{"description": "No value of this chart: " + advice + "."}
			return nil
		}
		schema, rest = below, further
	}
}

// schema is what the value itself says, with the rules of the caller and then those of its comment on top.
func (v *Value) schema(rules map[string]map[string]any) (map[string]any, error) {
	keywords, err := v.implied()
	if err != nil {
		return nil, err
	}
	isMapping := keywords["type"] == "object"
	if len(v.Children) > 0 {
		properties := map[string]any{}
		for _, child := range v.Children {
			if properties[child.Key], err = child.schema(rules); err != nil {
				return nil, err
			}
		}
		keywords["properties"], keywords["additionalProperties"] = properties, false
	}
	if v.Comment != "" {
		keywords["description"] = v.Comment
	}
	maps.Copy(keywords, rules[v.Path])
	maps.Copy(keywords, v.Rules)
	if _, choice := v.Rules["enum"]; choice {
		delete(keywords, "type")
	}
	if !v.NotNull {
		allowNull(keywords)
	}
	if isMapping && keywords["additionalProperties"] == nil {
		return nil, fmt.Errorf("making the schema of %s: its comment does not say what the mapping takes; "+
			"add @schema {additionalProperties: ...}", v.Path)
	}
	return keywords, nil
}

// implied is the type a default has.
func (v *Value) implied() (map[string]any, error) {
	switch deflt := v.Default.(type) {
	case bool:
		return map[string]any{"type": "boolean", "default": deflt}, nil
	case int:
		return map[string]any{"type": "integer", "default": deflt}, nil
	case string:
		return map[string]any{"type": "string", "default": deflt}, nil
	case []any:
		return map[string]any{"type": "array", "default": deflt}, nil
	case map[string]any:
		return map[string]any{"type": "object"}, nil
	}
	if v.Default == nil && (v.Rules["type"] != nil || v.Rules["enum"] != nil) {
		return map[string]any{"default": nil}, nil
	}
	return nil, fmt.Errorf("making the schema of %s: the default %v has no type; add @schema {type: ...}", v.Path,
		v.Default)
}

// allowNull makes null one of the allowed types, or one of the choices. Helm removes a value that is null.
func allowNull(keywords map[string]any) {
	if choices, found := keywords["enum"].([]any); found {
		if !slices.Contains(choices, nil) {
			keywords["enum"] = append([]any{nil}, choices...)
		}
		return
	}
	var types []any
	switch kind := keywords["type"].(type) {
	case string:
		types = []any{kind}
	case []string:
		for _, one := range kind {
			types = append(types, one)
		}
	case []any:
		types = slices.Clone(kind)
	default:
		return
	}
	if !slices.Contains(types, any("null")) {
		types = append(types, "null")
	}
	keywords["type"] = types
}
