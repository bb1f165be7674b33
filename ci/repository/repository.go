// Package repository holds the rules that every change to this repository keeps: sizes, documentation,
// imports, forbidden calls, forbidden files. The rules are functions over a file tree that return what they
// found, so that they can be tested on small trees; the test TestRepository applies them to this one.
package repository

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Finding is one place that breaks a rule.
type Finding struct {
	// Path is the file's path below the root of the repository, with slashes.
	Path string
	// Line counts from 1; 0 means the file as a whole.
	Line int
	// Message says what is wrong and what to do instead.
	Message string
}

// String gives the finding as compilers do, so that editors can jump to it.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Message)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Message)
}

// Rule checks a whole tree. Its error means that it could not check, not that it found something.
type Rule func(tree fs.FS) ([]Finding, error)

// Rules returns the rules that need nothing but the files, by name.
func Rules() map[string]Rule {
	return map[string]Rule{
		"sizes":     Sizes,
		"widths":    Widths,
		"packages":  Packages,
		"clouds":    Clouds,
		"paths":     LocalPaths,
		"big files": BigFiles,
		"links":     Links,
		"workflows": Workflows,
	}
}

// skipped are folders whose contents are not the repository's: git's own data, and what the build makes.
func skipped(dir string) bool {
	return path.Base(dir) == ".git" || dir == "bin" || dir == "dist"
}

// files calls visit for every regular file whose path keep accepts.
func files(tree fs.FS, keep func(path string) bool, visit func(path string) error) error {
	return fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("walking the repository: %w", err)
		case d.IsDir() && skipped(p):
			return fs.SkipDir
		case d.Type().IsRegular() && keep(p):
			return visit(p)
		}
		return nil
	})
}

// sorted puts findings into the order in which a reader meets them.
func sorted(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, strings.Compare(a.Message, b.Message))
	})
	return found
}
