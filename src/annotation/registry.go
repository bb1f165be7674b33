// Package annotation is one registry of a provider's Service annotations: it parses them, and it is the only place that says
// what each one is called, takes, defaults to and does, so that parser, reference page, schema and admission policy agree.
//
// A provider declares its annotations once and keeps the typed keys:
//
//	registry := annotation.NewRegistry("loadbalancer.example.com/")
//	policy := annotation.Register(registry, annotation.Definition{Name: "policy", …}, annotation.Enum("A", "B"), "A")
//	values, problems := registry.Parse(service.Annotations)
//	setting := policy.From(values)
package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/spelling"
)

// Definition is what users read about an annotation.
type Definition struct {
	Name    string // without the prefix: "max-connections"
	Since   string // the first version of this project that knows it
	Effect  string // one sentence: what it does
	Example string // a value somebody would really write
}

// Entry is a Definition together with what its type says about values; reference page and schema are made of entries.
type Entry struct {
	Definition
	Allowed string // "a whole number from 1 to 86400"
	Default string // as a user would write it
}

// Problem is one annotation that cannot be used as it stands.
type Problem struct {
	Annotation string // full name, prefix included
	Value      string // as given
	Want       string // what is allowed, or what was probably meant
	Name       bool   // the name is the problem, whatever the value
}

// String is one line that names the annotation, its value and what is allowed.
func (p Problem) String() string {
	if p.Name {
		return fmt.Sprintf("annotation %s: %s", p.Annotation, p.Want)
	}
	return fmt.Sprintf("annotation %s: %q is not %s", p.Annotation, p.Value, p.Want)
}

// Registry holds the annotations of one provider, all under one prefix.
type Registry struct {
	prefix  string
	entries map[string]Entry
	parsers map[string]func(text string) (any, error)
	// conditions are in CEL, see Kind.
	conditions map[string]func(text string) string
	// reserved are the names of annotations that are known, but not applied by this version; see Reserve.
	reserved []string
}

// NewRegistry returns an empty registry for annotations whose names start with prefix ("loadbalancer.example.com/").
func NewRegistry(prefix string) *Registry {
	return &Registry{
		prefix: prefix, entries: map[string]Entry{},
		parsers: map[string]func(string) (any, error){}, conditions: map[string]func(string) string{},
	}
}

// Reserve makes Parse say of unregistered annotations with these names that this version does not apply them, instead of that they
// are unknown. A name that ends with "-" is a family: "acl-port-" stands for "acl-port-http" and whatever else begins like that.
func (r *Registry) Reserve(names ...string) { r.reserved = append(r.reserved, names...) }

// Reserved returns the names given to Reserve.
func (r *Registry) Reserved() []string { return slices.Clone(r.reserved) }

// Family says whether a reserved name stands for all that begin with it.
func Family(name string) bool { return strings.HasSuffix(name, "-") }

// isReserved says whether a name is a reserved one, or longer than the name of its family.
func (r *Registry) isReserved(name string) bool {
	return slices.ContainsFunc(r.reserved, func(reserved string) bool {
		return name == reserved && !Family(reserved) || Family(reserved) && strings.HasPrefix(name, reserved) && name != reserved
	})
}

// Prefix is what every annotation of the registry starts with.
func (r *Registry) Prefix() string { return r.prefix }

// Entries returns all annotations, sorted by name.
func (r *Registry) Entries() []Entry {
	entries := make([]Entry, 0, len(r.entries))
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		entries = append(entries, r.entries[name])
	}
	return entries
}

// Condition returns the CEL expression that is true when Parse accepts a value of the annotation with that name, which must be
// registered. text is the CEL expression that gives the value, without spaces around it.
func (r *Registry) Condition(name, text string) string { return r.conditions[name](text) }

// Key reads one annotation's value, already of its Go type.
type Key[T any] struct {
	name     string
	fallback T
}

// Register adds an annotation of the given type to the registry and returns the key that reads it.
// fallback is its value when a Service does not have the annotation.
func Register[T any](r *Registry, definition Definition, kind Kind[T], fallback T) Key[T] {
	r.entries[definition.Name] = Entry{Definition: definition, Allowed: kind.Allowed, Default: kind.Format(fallback)}
	r.parsers[definition.Name] = func(text string) (any, error) { return kind.Parse(text) }
	r.conditions[definition.Name] = kind.Condition
	return Key[T]{name: definition.Name, fallback: fallback}
}

// Values are the parsed annotations of one Service.
type Values struct {
	parsed  map[string]any
	invalid map[string]bool
}

// Parse reads all annotations that start with the registry's prefix; others are nobody's business here.
// A value that cannot be used, and a name the registry does not know, become problems, sorted by name; all other annotations
// are parsed nevertheless.
func (r *Registry) Parse(annotations map[string]string) (Values, []Problem) {
	values := Values{parsed: map[string]any{}, invalid: map[string]bool{}}
	var problems []Problem
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, r.prefix)
		if !ours {
			continue
		}
		parse, known := r.parsers[name]
		if !known {
			problems = append(problems, Problem{Annotation: full, Value: annotations[full], Want: r.unknown(name), Name: true})
			continue
		}
		value, err := parse(strings.TrimSpace(annotations[full]))
		if err != nil {
			values.invalid[name] = true
			problems = append(problems, Problem{Annotation: full, Value: annotations[full], Want: r.entries[name].Allowed})
			continue
		}
		values.parsed[name] = value
	}
	return values, problems
}

func (r *Registry) unknown(name string) string {
	if r.isReserved(name) {
		return "is not applied by this version yet; what the load balancer already has in this respect stays as it is"
	}
	known := slices.Sorted(maps.Keys(r.entries))
	if closest, found := spelling.Closest(name, slices.Concat(known, r.reserved)); found && !Family(closest) {
		return fmt.Sprintf("is not known and has no effect; did you mean %s%s?", r.prefix, closest)
	}
	return "is not known and has no effect; known are " + strings.Join(known, ", ")
}

// Setting is what a Service asks for in one respect.
type Setting[T any] struct {
	Value T
	// Invalid says that the annotation is there but cannot be used: what the cloud has now must stay as it is.
	// Value is then the default, for an object that does not exist yet.
	Invalid bool
}

// Over returns the value to aim at, given the one observed in the cloud.
func (s Setting[T]) Over(observed T) T {
	if s.Invalid {
		return observed
	}
	return s.Value
}

// From returns the annotation's setting among values.
func (k Key[T]) From(values Values) Setting[T] {
	if value, ok := values.parsed[k.name]; ok {
		return Setting[T]{Value: value.(T)}
	}
	return Setting[T]{Value: k.fallback, Invalid: values.invalid[k.name]}
}
