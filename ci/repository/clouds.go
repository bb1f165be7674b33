package repository

import (
	"go/ast"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Clouds finds tests whose emulated cloud nothing compares with the OpenAPI document: who calls emulator.New sets
// Middleware.
func Clouds(tree fs.FS) ([]Finding, error) {
	var found []Finding
	err := sources(tree, func(s *source) {
		if !s.isTest() && !strings.HasPrefix(s.path, "ci/") || strings.HasPrefix(path.Base(s.path), "example_") {
			return
		}
		for _, f := range s.functions() {
			if !uncheckedIn(f.Name.Name) && mentions(f, s.makesCloud) && !mentions(f, setsMiddleware) {
				found = append(found, s.finding(f, "%s makes a cloud without Middleware, so that nothing compares "+
					"its answers with the OpenAPI document: use openapitest.Middleware or Sampled", f.Name.Name))
			}
		}
	})
	return sorted(found), err
}

// uncheckedIn returns whether the clouds of a function need no checker: examples show how New is used, bare and
// serveCloud are for tests that count allocations and time, and nothing is sent to the cloud of netns' TestMain.
func uncheckedIn(function string) bool {
	switch function {
	case "bare", "serveCloud", "TestMain":
		return true
	}
	return strings.HasPrefix(function, "Example")
}

// makesCloud returns whether a node is a call of emulator.New.
func (s *source) makesCloud(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name := types.ExprString(call.Fun)
	return name == "emulator.New" || name == "New" && s.file.Name.Name == "emulator"
}

// setsMiddleware returns whether a node sets the field, to anything but nil.
func setsMiddleware(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		key, isName := n.Key.(*ast.Ident)
		value, isValue := n.Value.(*ast.Ident)
		return isName && key.Name == "Middleware" && !(isValue && value.Name == "nil")
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool {
			field, ok := to.(*ast.SelectorExpr)
			return ok && field.Sel.Name == "Middleware"
		})
	}
	return false
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
