package config

import (
	"reflect"
	"slices"
	"strings"
)

// File is a file that was decoded: where its keys stand, and everything that is wrong with it.
type File struct {
	target   reflect.Value
	lines    map[string]int    // of every key that is in the file, by path
	given    map[string]bool   // keys that have a value, be it a wrong one
	origins  map[string]string // the environment variables that values came from, by path
	aliases  map[string]string // how keys appear in problems that do not look like keys, by path
	problems Problems
	numbers  map[string]string // whole numbers without quotes where text is wanted, by path
	warnings []string
}

// Given says whether the file gives the key at path a value. Null and empty text are none; a value of a wrong type is
// one.
func (f *File) Given(path string) bool { return f.given[path] }

// Add reports a problem with the key at path: what was found there ("" for nothing) and what is wanted. Only the first
// one about a key is kept: a value of the wrong type is not missing as well.
func (f *File) Add(path, found, want string) {
	for _, known := range f.problems {
		if known.Path == path {
			return
		}
	}
	f.report(path, f.lineOf(path), found, want)
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

// shownAs is how a path appears in problems.
func (f *File) shownAs(path string) string {
	if alias, unusual := f.aliases[path]; unusual {
		return alias
	}
	return path
}

func (f *File) report(path string, line int, found, want string) {
	if origin := f.origins[path]; origin != "" && found != "" {
		found += " in the environment variable " + origin
	}
	f.problems = append(f.problems, Problem{Path: path, Line: line, Found: found, Want: want})
}

// lineOf is where the key stands, or the mapping it should be in.
func (f *File) lineOf(path string) int {
	for path != "" {
		if line, known := f.lines[path]; known {
			return line
		}
		path = path[:max(0, strings.LastIndex(path, "."))]
	}
	return 0
}

// field is the part of the target that the key at path is decoded into. It is the zero Value when no struct has the
// key.
func field(target reflect.Value, path string) reflect.Value {
	for key := range strings.SplitSeq(path, ".") {
		if target.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		target = fieldsByKey(target)[key]
	}
	return target
}
