package repository

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// source is one parsed Go file that people wrote.
type source struct {
	path string
	text []byte
	set  *token.FileSet
	file *ast.File
}

// isTest reports whether the file is compiled into tests only.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// line is where a node starts.
func (s *source) line(n ast.Node) int { return s.set.Position(n.Pos()).Line }

// length is how many lines a node covers.
func (s *source) length(n ast.Node) int { return s.set.Position(n.End()).Line - s.line(n) + 1 }

// finding reports something about a node.
func (s *source) finding(n ast.Node, format string, args ...any) Finding {
	return Finding{Path: s.path, Line: s.line(n), Message: fmt.Sprintf(format, args...)}
}

// functions are the declared functions and methods that have a body.
func (s *source) functions() []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			out = append(out, f)
		}
	}
	return out
}

// sources parses every Go file of the tree, generated files and test data left out.
func sources(tree fs.FS, visit func(*source)) error {
	keep := func(p string) bool { return strings.HasSuffix(p, ".go") && !strings.Contains(p, "testdata/") }
	return files(tree, keep, func(p string) error {
		s, err := parse(tree, p)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(s.file) {
			visit(s)
		}
		return nil
	})
}

// parse reads one Go file with its comments.
func parse(tree fs.FS, p string) (*source, error) {
	text, err := fs.ReadFile(tree, p)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p, err)
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing Go source: %w", err)
	}
	return &source{path: p, text: text, set: set, file: file}, nil
}
