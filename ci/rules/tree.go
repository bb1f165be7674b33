package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"strings"
)

// Tree is the files of a repository.
type Tree struct {
	files   map[string][]byte
	folders map[string]bool
	sources []*source
}

// source is one parsed Go file that people wrote.
type source struct {
	path string
	text string
	set  *token.FileSet
	file *ast.File
}

// Read reads the files of a repository, without git's own and what the build makes, and parses the Go files, without
// generated ones and test data.
func Read(repository fs.FS) (*Tree, error) {
	t := &Tree{files: map[string][]byte{}, folders: map[string]bool{}}
	err := fs.WalkDir(repository, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || p == "bin" || p == "dist"):
			return fs.SkipDir
		case d.IsDir():
			t.folders[p] = true
		case d.Type().IsRegular():
			if t.files[p], err = fs.ReadFile(repository, p); err != nil {
				return err
			}
			return t.parse(p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the repository: %w", err)
	}
	return t, nil
}

// parse adds a file to the sources if it is one.
func (t *Tree) parse(p string) error {
	if path.Ext(p) != ".go" || strings.Contains(p, "testdata/") {
		return nil
	}
	s := &source{path: p, text: string(t.files[p]), set: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.set, p, s.text, parser.ParseComments|parser.SkipObjectResolution)
	if err == nil && !ast.IsGenerated(s.file) {
		t.sources = append(t.sources, s)
	}
	return err
}

// texts yields every file that is not binary: one without a zero byte, as git sees it.
func (t *Tree) texts() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for p, content := range t.files {
			if !bytes.Contains(content, []byte{0}) && !yield(p, string(content)) {
				return
			}
		}
	}
}

// isTest reports whether the file is compiled into tests only.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// line is where a node starts.
func (s *source) line(n ast.Node) int { return s.set.Position(n.Pos()).Line }

// length is how many lines a node covers.
func (s *source) length(n ast.Node) int { return s.set.Position(n.End()).Line - s.line(n) + 1 }

// finding says something about a node.
func (s *source) finding(n ast.Node, format string, args ...any) string {
	return found(s.path, s.line(n), format, args...)
}

// found says something about a line, as compilers do, so that editors can jump to it.
func found(file string, line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
}

// functions yields the declared functions and methods that have a body.
func (s *source) functions() iter.Seq[*ast.FuncDecl] {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && !yield(f) {
				return
			}
		}
	}
}

// contains returns whether a node or a part of it is what is looked for.
func contains(node ast.Node, wanted func(ast.Node) bool) bool {
	is := false
	ast.Inspect(node, func(n ast.Node) bool {
		is = is || n != nil && wanted(n)
		return !is
	})
	return is
}
