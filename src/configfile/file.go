package configfile

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"k8s.io/klog/v2"
)

// File is a file that was decoded: where its keys stand, and everything that is wrong with it.
type File struct {
	target  any // what Apply fills
	schema  *jsonschema.Schema
	entries map[string]Entry // what is known about keys, by path
	content any              // what the schema validates: the file without what has no value, and with the environment

	keys, values map[string]*yaml.Node // of every key that is in the file, by path
	given        map[string]bool       // keys that have a value, be it a wrong one
	origins      map[string]string     // the environment variables that values came from, by path
	names        map[string]string     // how keys appear in problems, by path
	problems     Problems
	warnings     []string
}

// Given reports whether the file gives the key at path a value. Null and empty text are none; a value of a wrong type
// is one.
func (f *File) Given(path string) bool { return f.given[path] }

// Add reports a problem with the key at path: what was found there ("" for nothing) and what is wanted. Only the first
// one about a key is kept: a value of the wrong type is not missing as well.
func (f *File) Add(path, found, want string) {
	name := path
	if shown := f.names[path]; shown != "" {
		name = shown
	}
	if slices.ContainsFunc(f.problems, func(known Problem) bool { return known.Path == name }) {
		return
	}
	if origin := f.origins[path]; origin != "" && found != "" {
		found += " in the environment variable " + origin
	}
	problem := Problem{Path: name, Found: found, Want: want}
	if key := f.keyAt(path); key != nil {
		problem.Line, problem.column = key.Line, key.Column
	}
	f.problems = append(f.problems, problem)
}

// keyAt is the key in the file, or that of the mapping it should be in.
func (f *File) keyAt(path string) *yaml.Node {
	for path != "" {
		if key := f.keys[path]; key != nil {
			return key
		}
		path = path[:max(0, strings.LastIndex(path, "."))]
	}
	return nil
}

// Problems returns everything that is wrong, in the order of the file; what is missing in it comes last.
func (f *File) Problems() Problems { return f.problems.sorted() }

// Err is nil when nothing is wrong, else the Problems.
func (f *File) Err() error { return f.Problems().Err() }

// Warn notes what is accepted at path and should be written in another way. The message repeats no value that may be a
// secret.
func (f *File) Warn(path, message string) {
	f.warnings = append(f.warnings, path+": "+message)
}

// Warnings returns what is accepted and should be written in another way, one line each.
func (f *File) Warnings() []string { return slices.Clone(f.warnings) }

// LogWarnings logs the warnings about the file at a path.
func (f *File) LogWarnings(path string) {
	for _, warning := range f.warnings {
		klog.InfoS("The cloud-config should be written in another way", "path", path, "warning", warning)
	}
}

// known returns the names of the keys that a section may have, sorted; none if it is no section.
func (f *File) known(section string) []string {
	var names []string
	if section != "" {
		section += "."
	}
	for path := range f.entries {
		if below, found := strings.CutPrefix(path, section); found {
			name, _, _ := strings.Cut(below, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
