package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// effectKey is the key of the effect in a rule; the compact form does without.
const effectKey = "effect"

// setting is a key of a rule as people write it.
type setting struct {
	key string
	// effect settings are nested in JSON and YAML.
	effect bool
	value
}

// value sets a field of a rule. In JSON and YAML it is a number or a text.
type value struct {
	number bool
	set    func(r *Rule, text string) error
}

// settings are all keys, in the order in which they are documented.
func settings() []setting {
	return []setting{
		{"id", false, plain(func(r *Rule) *string { return &r.ID })},
		{"operation", false, plain(func(r *Rule) *string { return &r.Operation })},
		{"path", false, plain(func(r *Rule) *string { return &r.Path })},
		{"skip", false, number(strconv.Atoi, "a whole number", func(r *Rule) *int { return &r.Skip })},
		{"count", false, number(strconv.Atoi, "a whole number", func(r *Rule) *int { return &r.Count })},
		{"probability", false, number(float, "a number from 0 to 1", func(r *Rule) *float64 { return &r.Probability })},
		{"seed", false, number(unsigned, "a whole number, 0 or more", func(r *Rule) *uint64 { return &r.Seed })},
		{"from", false, duration(func(r *Rule) *time.Duration { return &r.From })},
		{"until", false, duration(func(r *Rule) *time.Duration { return &r.Until })},
		{"kind", true, plain(func(r *Rule) *Kind { return &r.Effect.Kind })},
		{"status", true, number(strconv.Atoi, "a whole number", func(r *Rule) *int { return &r.Effect.Status })},
		{"message", true, plain(func(r *Rule) *string { return &r.Effect.Message })},
		{"retryAfter", true, duration(func(r *Rule) *time.Duration { return &r.Effect.RetryAfter })},
		{"delay", true, duration(func(r *Rule) *time.Duration { return &r.Effect.Delay })},
	}
}

func plain[T ~string](field func(*Rule) *T) value {
	return value{set: func(r *Rule, text string) error {
		*field(r) = T(text)
		return nil
	}}
}

func number[T any](parse func(string) (T, error), allowed string, field func(*Rule) *T) value {
	return value{true, parsed(parse, allowed, field)}
}

func duration(field func(*Rule) *time.Duration) value {
	return value{set: parsed(time.ParseDuration, `a duration such as "1.5s" or "2m"`, field)}
}

func parsed[T any](parse func(string) (T, error), allowed string, field func(*Rule) *T) func(*Rule, string) error {
	return func(r *Rule, text string) error {
		value, err := parse(text)
		if err != nil {
			return fmt.Errorf("is %q: it must be %s", text, allowed)
		}
		*field(r) = value
		return nil
	}
}

func float(text string) (float64, error)   { return strconv.ParseFloat(text, 64) }
func unsigned(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// keys are the keys of a rule, or of its effect.
func keys(effect bool) []string {
	var out []string
	for _, s := range settings() {
		if s.effect == effect {
			out = append(out, s.key)
		}
	}
	return out
}

func find(key string) (found setting, is bool) {
	for _, found = range settings() {
		if found.key == key {
			return found, true
		}
	}
	return setting{}, false
}

// assign gives one setting of a rule a value.
func (r *Rule) assign(key, text string) error {
	s, found := find(key)
	if !found {
		return fmt.Errorf("unknown key %q: %s", key, suggest(key, append(keys(true), keys(false)...)))
	}
	if err := s.set(r, text); err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	return nil
}

// Parse reads a rule in its compact form: settings of the rule and its effect,
// separated by commas, such as
//
//	operation=POST *,kind=status,status=503,count=3
//
// A comma in a value is written \, and a backslash \\.
func Parse(text string) (Rule, error) {
	var r Rule
	given := map[string]bool{}
	for _, part := range split(text) {
		key, value, found := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		if !found {
			return Rule{}, fmt.Errorf("fault %q: %q is not key=value; write \\, for a comma in a value", text, part)
		}
		if given[key] {
			return Rule{}, fmt.Errorf("fault %q: %s is given twice", text, key)
		}
		given[key] = true
		if err := r.assign(key, strings.TrimSpace(value)); err != nil {
			return Rule{}, fmt.Errorf("fault %q: %w", text, err)
		}
	}
	if err := r.Validate(); err != nil {
		return Rule{}, fmt.Errorf("fault %q: %w", text, err)
	}
	return r, nil
}

// split cuts a text at its commas, except those behind a backslash.
func split(text string) []string {
	var parts []string
	var part strings.Builder
	escaped := false
	for _, c := range text {
		switch {
		case !escaped && c == '\\':
			escaped = true
			continue
		case !escaped && c == ',':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteRune(c)
		}
		escaped = false
	}
	return append(parts, part.String())
}

// ReadRules reads a YAML or JSON list of rules. The rules are valid.
func ReadRules(in io.Reader) ([]Rule, error) {
	var items []map[string]any
	decoder := yaml.NewDecoder(in)
	if err := decoder.Decode(&items); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading faults, which must be a list of rules: %w", err)
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading faults: more than one YAML document; put everything in one list")
	}
	var rules []Rule
	for i, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("reading fault %d: %w", i+1, err)
		}
		var r Rule
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("reading fault %d: %w", i+1, err)
		}
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("reading fault %d: %w", i+1, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// UnmarshalJSON reads a rule; unknown keys are errors. It does not validate.
func (r *Rule) UnmarshalJSON(text []byte) error {
	var next Rule
	nested, err := next.read(text, false)
	if err != nil {
		return err
	}
	if nested != nil {
		if _, err := next.read(nested, true); err != nil {
			return fmt.Errorf("%s: %w", effectKey, err)
		}
	}
	*r = next
	return nil
}

// read assigns the members of a JSON object that belong to the rule, or to its
// effect, and returns the object of the effect.
func (r *Rule) read(text []byte, effect bool) (nested json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("a rule and its effect are JSON objects: %w", err)
	}
	allowed := keys(effect)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		member := members[key]
		switch {
		case !effect && key == effectKey:
			nested = member
			continue
		case !slices.Contains(allowed, key):
			return nil, misplaced(key, effect)
		}
		value, err := scalar(member)
		if err != nil {
			return nil, fmt.Errorf("%s %w", key, err)
		}
		if value == nil {
			continue
		}
		if err := r.assign(key, *value); err != nil {
			return nil, err
		}
		if s, _ := find(key); s.number == isText(member) {
			return nil, s.mistyped(member)
		}
	}
	return nested, nil
}

func misplaced(key string, effect bool) error {
	if !effect && slices.Contains(keys(true), key) {
		return fmt.Errorf("key %q belongs into %q", key, effectKey)
	}
	if effect && slices.Contains(keys(false), key) {
		return fmt.Errorf("key %q belongs into the rule, beside %q", key, effectKey)
	}
	allowed := keys(effect)
	if !effect {
		allowed = append(allowed, effectKey)
	}
	return fmt.Errorf("unknown key %q: %s", key, suggest(key, allowed))
}

func isText(member json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(member), []byte(`"`))
}

// mistyped is the error about a JSON value that is a number instead of a text, or the reverse.
func (s setting) mistyped(member json.RawMessage) error {
	if s.number {
		return fmt.Errorf("%s must be a number, not %s: remove the quotes", s.key, member)
	}
	return fmt.Errorf("%s must be a text, not %s: add quotes", s.key, member)
}

// scalar is the text of a JSON string, number or truth value; nil for null.
func scalar(member json.RawMessage) (*string, error) {
	member = bytes.TrimSpace(member)
	text := string(member)
	switch {
	case text == "null":
		return nil, nil
	case strings.HasPrefix(text, `"`):
		return &text, json.Unmarshal(member, &text)
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return nil, errors.New("must be text or a number")
	}
	return &text, nil
}

// MarshalJSON writes what UnmarshalJSON reads; what is not set is left out.
func (r Rule) MarshalJSON() ([]byte, error) {
	type effect struct {
		Kind       Kind   `json:"kind"`
		Status     int    `json:"status,omitempty"`
		Message    string `json:"message,omitempty"`
		RetryAfter string `json:"retryAfter,omitempty"`
		Delay      string `json:"delay,omitempty"`
	}
	e := r.Effect
	return json.Marshal(struct {
		ID          string  `json:"id,omitempty"`
		Operation   string  `json:"operation,omitempty"`
		Path        string  `json:"path,omitempty"`
		Skip        int     `json:"skip,omitempty"`
		Count       int     `json:"count,omitempty"`
		Probability float64 `json:"probability,omitempty"`
		Seed        uint64  `json:"seed,omitempty"`
		From        string  `json:"from,omitempty"`
		Until       string  `json:"until,omitempty"`
		Effect      effect  `json:"effect"`
	}{
		r.ID, r.Operation, r.Path, r.Skip, r.Count, r.Probability, r.Seed, written(r.From), written(r.Until),
		effect{e.Kind, e.Status, e.Message, written(e.RetryAfter), written(e.Delay)},
	})
}

// written is a duration as text; none for zero.
func written(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
