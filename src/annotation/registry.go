// Package annotation is one registry of a provider's Service annotations: it parses them, and it is the only place that
// says what each one is called, takes, defaults to and does, so that parser, reference page, schema and admission
// policy agree.
//
// A provider declares its annotations once and keeps the typed keys:
//
//	registry := annotation.NewRegistry("loadbalancer.example.com/")
//	policy := annotation.Register(registry, annotation.Definition{Name: "policy", PerPort: true, …},
//		annotation.Enum("A", "B"), "A")
//	values, problems := registry.ParseService(service)
//	setting := policy.For(values, ports[0])
package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Definition is what users read about an annotation.
type Definition struct {
	Name    string // without the prefix: "max-connections"; that of a family ends in "-"
	Topic   string // the heading it stands under: "Health checks"
	Since   string // the first version of this project that has it
	Effect  string // what it does, in plain sentences
	Example string // a value somebody would really write
	// Without is what holds when a Service does not have the annotation, where a value cannot say it: "the subnet of
	// the cloud-config".
	Without string
	// PerPort says that the annotation may also be given for one port, as "<name>.<name or number of the port>".
	PerPort bool
	// OneService says that a value makes sense for one Service only, so that there is no default for all of them.
	OneService bool
}

// Entry is a Definition together with what its type says about values; reference page and schema are made of entries.
type Entry struct {
	Definition
	Allowed string // "a whole number from 1 to 86400"
	Default string // as a user would write it; "" when Without says it
	// Schema is the part of a JSON schema that says what a value may be, as far as a schema can; nil is any text.
	Schema map[string]any
}

// IsFamily reports whether the entry stands for one annotation per port, "<name><name or number of the port>".
func (e Entry) IsFamily() bool { return IsFamily(e.Name) }

// IsFamily reports whether a name stands for all that begin with it.
func IsFamily(name string) bool { return strings.HasSuffix(name, "-") }

// Declined is an annotation that people know from elsewhere and that cannot be had here.
type Declined struct {
	Name string // without the prefix; a family ends in "-"
	Why  string // ends a sentence that begins with the annotation's name: "is not there: nodes are the targets"
	// Meant is the annotation, without the prefix, that does what people expect of this one; it counts as one that
	// cannot be used. "" for none.
	Meant string
}

// Registry holds the annotations of one provider, all under one prefix.
type Registry struct {
	prefix   string
	entries  map[string]registered
	declined []Declined
	suspects []suspect
	own      map[Concept]Own
	foreign  func() []Foreign // of all other products; it is called only for Services that may have one
}

// suspect is a word in unknown names, and what is meant by them.
type suspect struct{ word, meant string }

// registered is an annotation with what its type does.
type registered struct {
	Entry
	parse     func(text string) (any, error)
	condition func(text string) string // in CEL, see Kind
	fallback  any
	// configured says that the fallback is one of SetDefaults.
	configured bool
}

// NewRegistry returns an empty registry for annotations whose names start with prefix ("loadbalancer.example.com/").
func NewRegistry(prefix string) *Registry {
	return &Registry{prefix: prefix, entries: map[string]registered{}, own: map[Concept]Own{},
		foreign: sync.OnceValue(foreignTable)}
}

// Decline makes Parse say of annotations with this name why they cannot be had, instead of that they are unknown. A
// name that ends in "-" is a family: "tls-" stands for "tls-ports" and whatever else begins like that.
func (r *Registry) Decline(d Declined) { r.declined = append(r.declined, d) }

// Suspect makes names that are not known, and that look like none that is, count as meaning an annotation when they
// contain one of the words: what may be meant to restrict must not be without effect.
func (r *Registry) Suspect(meant string, words ...string) {
	for _, word := range words {
		r.suspects = append(r.suspects, suspect{word: word, meant: meant})
	}
}

// Declined returns what was given to Decline, in that order.
func (r *Registry) Declined() []Declined { return slices.Clone(r.declined) }

// Prefix is what every annotation of the registry starts with.
func (r *Registry) Prefix() string { return r.prefix }

// Entries returns all annotations, sorted by name.
func (r *Registry) Entries() []Entry {
	entries := make([]Entry, 0, len(r.entries))
	for _, name := range r.names() {
		entries = append(entries, r.entries[name].Entry)
	}
	return entries
}

// names returns those of all annotations, sorted.
func (r *Registry) names() []string { return slices.Sorted(maps.Keys(r.entries)) }

// Condition returns the CEL expression that is true when Parse accepts a value of the annotation with that name, which
// must be registered. text is the CEL expression that gives the value, without spaces around it.
func (r *Registry) Condition(name, text string) string { return r.entries[name].condition(text) }

// Register adds an annotation of the given type to the registry and returns the key that reads it.
// fallback is its value when a Service does not have the annotation.
func Register[T any](r *Registry, definition Definition, kind Kind[T], fallback T) Key[T] {
	register(r, definition, kind, fallback)
	return Key[T]{registry: r, name: definition.Name}
}

// RegisterFamily adds one annotation per port of the Service to the registry, and returns the key that reads them. The
// definition's name ends in "-": with "acl-port-", the annotations of a port named http with the number 80 are
// "acl-port-http" and "acl-port-80". Its Effect is about one of them. A family has no default.
func RegisterFamily[T any](r *Registry, definition Definition, kind Kind[T]) Family[T] {
	definition.PerPort, definition.OneService = false, true
	var none T
	register(r, definition, kind, none)
	return Family[T]{name: definition.Name}
}

func register[T any](r *Registry, definition Definition, kind Kind[T], fallback T) {
	entry := Entry{Definition: definition, Allowed: kind.Allowed, Schema: kind.Schema}
	if definition.Without == "" && !entry.IsFamily() {
		entry.Default = fmt.Sprint(fallback)
	}
	r.entries[definition.Name] = registered{
		Entry: entry, fallback: fallback, condition: kind.Condition,
		parse: func(text string) (any, error) { return kind.Parse(text) },
	}
}

// SetDefaults replaces what holds for Services that do not have an annotation. The keys are names without the prefix
// and without a port, the values as in annotations. Names that are unknown or hold for one Service only, and values
// that cannot be used, become problems, sorted by name; the others count. It is called before anything is read.
func (r *Registry) SetDefaults(defaults map[string]string) []Problem {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		problem := Problem{Annotation: name, Value: defaults[name], Name: true}
		entry, port, known := r.locate(name)
		switch {
		case strings.HasPrefix(name, r.prefix):
			problem.Want = "is written without " + r.prefix + " here"
		case !known:
			problem.Want = r.unknownDefault(name)
		case entry.OneService:
			problem.Want = "is about one Service and cannot have a default for all of them"
		case port != "":
			problem.Want = "is for one port, and ports differ between Services; write " + entry.Name
		default:
			value, err := entry.parse(strings.TrimSpace(defaults[name]))
			if err == nil {
				entry.fallback, entry.configured = value, true
				r.entries[name] = entry
				continue
			}
			problem.Want, problem.Name = entry.Allowed, false
		}
		problems = append(problems, problem)
	}
	return problems
}

// DefaultNames returns the names that SetDefaults accepts, sorted.
func (r *Registry) DefaultNames() []string {
	return slices.DeleteFunc(r.names(), func(name string) bool { return r.entries[name].OneService })
}

// DefaultsSchema is the JSON schema of what SetDefaults takes: a mapping of names to text. It refuses unknown names,
// and of values what a schema can describe.
func (r *Registry) DefaultsSchema() map[string]any {
	properties := map[string]any{}
	for _, name := range r.DefaultNames() {
		entry := r.entries[name]
		value := map[string]any{"type": "string", "description": entry.Effect + " Allowed: " + entry.Allowed + ".",
			"examples": []string{entry.Example}}
		maps.Copy(value, entry.Schema)
		properties[name] = value
	}
	return map[string]any{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
}
