package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxPackage  = 25  // files of a package, without tests
	p90Function = 22  // lines of nine functions of ten, without tests
	p50Function = 10  // lines of every second function
	maxWidth    = 120 // characters of a line
	tabWidth    = 4   // characters of a tab
	maxRaw      = 100 // characters of a raw string with its quotes; longer ones may make a line too long
)

// Packages finds packages with too many files.
func Packages(t *Tree) []string {
	var out []string
	count := map[string]int{}
	for _, s := range t.sources {
		if dir := path.Dir(s.path); !s.isTest() {
			if count[dir]++; count[dir] == maxPackage+1 {
				out = append(out, fmt.Sprintf("%s: more than %d files without tests: divide the package by concept",
					dir, maxPackage))
			}
		}
	}
	return out
}

// Sizes compares the lengths of most functions with the budget. The linters check the longest one.
func Sizes(t *Tree) []string {
	var out []string
	var lengths []int
	for _, s := range t.sources {
		for f := range s.functions() {
			if !s.isTest() {
				lengths = append(lengths, s.length(f))
			}
		}
	}
	slices.Sort(lengths)
	for percent, most := range map[int]int{50: p50Function, 90: p90Function} {
		if n := len(lengths); n > 0 && lengths[(n*percent+99)/100-1] > most {
			out = append(out, fmt.Sprintf("less than %d %% of the functions have at most %d lines", percent, most))
		}
	}
	return out
}

// Widths finds lines of Go that are too long. It leaves out what cannot be broken: lines of long raw strings and of
// those that have several lines, such as test data in JSON, and directives to the compiler. lll knows no raw strings.
func Widths(t *Tree) []string {
	var out []string
	for _, s := range t.sources {
		raw := s.rawLines()
		for n, line := range strings.Split(s.text, "\n") {
			width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
			if width > maxWidth && !raw[n+1] && !strings.HasPrefix(line, "//go:") {
				out = append(out, found(s.path, n+1, "%d characters, at most %d: break the line", width, maxWidth))
			}
		}
	}
	return out
}

// rawLines are the numbers of the lines that contain a part of a raw string with several lines, or a long one.
func (s *source) rawLines() map[int]bool {
	raw := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if ok && literal.Kind == token.STRING && literal.Value[0] == '`' &&
			(s.length(literal) > 1 || utf8.RuneCountInString(literal.Value) > maxRaw) {
			for line := range s.length(literal) {
				raw[s.line(literal)+line] = true
			}
		}
		return true
	})
	return raw
}
