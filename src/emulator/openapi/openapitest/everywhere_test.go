package openapitest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// exempt returns whether the clouds of a function need no checker: examples show how New is used, bare is for tests
// that count allocations, and nothing is sent to the cloud of netns' TestMain.
func exempt(file, function string) bool {
	return strings.HasPrefix(file, "example_") || strings.HasPrefix(function, "Example") || function == "bare" ||
		function == "TestMain"
}

// Every cloud in tests of the emulator has a checker: who calls New sets Middleware.
func TestNoTestForgetsTheChecker(t *testing.T) {
	checked := map[string]bool{}
	emulator := os.DirFS("../..")
	err := fs.WalkDir(emulator, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(emulator, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, 0)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || exempt(name, f.Name.Name) ||
				!mentions(f, func(n ast.Node) bool { return makes(n, file.Name.Name) }) {
				continue
			}
			checked[path.Dir(name)] = true
			if !mentions(f, sets) {
				t.Errorf("%s: %s makes a cloud without Middleware, so that nothing compares its answers with the "+
					"OpenAPI document", name, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{".", "declaration", "faulttest", "netns"} {
		if !checked[folder] {
			t.Errorf("no cloud was found in the tests of %s", folder)
		}
	}
}

// makes returns whether a node is a call of emulator.New, from a file of a package.
func makes(n ast.Node, from string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && x.Name == "emulator" && f.Sel.Name == "New"
	case *ast.Ident:
		return from == "emulator" && f.Name == "New"
	}
	return false
}

// sets returns whether a node is the name of the field.
func sets(n ast.Node) bool {
	name, ok := n.(*ast.Ident)
	return ok && name.Name == "Middleware"
}

// mentions returns whether a part of a function is what is looked for.
func mentions(f *ast.FuncDecl, wanted func(ast.Node) bool) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		found = found || n != nil && wanted(n)
		return !found
	})
	return found
}
