package repository

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"strings"
	"unicode/utf8"
)

const (
	maxWidth = 120 // characters of a line
	tabWidth = 4   // characters of a tab
	maxRaw   = 100 // characters of a raw string with its quotes; longer ones may make a line too long
)

// Widths finds lines of Go that are too long. It leaves out what cannot be broken: lines of long raw strings and of
// those that have several lines, such as test data in JSON, and directives to the compiler.
func Widths(tree fs.FS) ([]Finding, error) {
	var found []Finding
	err := sources(tree, func(s *source) {
		raw := s.rawLines()
		for n, line := range strings.Split(string(s.text), "\n") {
			if w := width(line); w > maxWidth && !raw[n+1] && !strings.HasPrefix(line, "//go:") {
				found = append(found, Finding{s.path, n + 1,
					fmt.Sprintf("%d characters, at most %d: break the line", w, maxWidth)})
			}
		}
	})
	return sorted(found), err
}

// width is how many columns a line has in an editor.
func width(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

// rawLines are the numbers of the lines that contain a part of a raw string with several lines, or a long one.
func (s *source) rawLines() map[int]bool {
	raw := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || literal.Value[0] != '`' {
			return true
		}
		if length := s.length(literal); length > 1 || utf8.RuneCountInString(literal.Value) > maxRaw {
			for line := range length {
				raw[s.line(literal)+line] = true
			}
		}
		return true
	})
	return raw
}
