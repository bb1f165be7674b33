package rules

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
)

// Clouds finds tests whose emulated cloud nothing compares with the OpenAPI document: who calls emulator.New sets
// Middleware.
func Clouds(t *Tree) []string {
	var out []string
	for _, s := range t.sources {
		if !s.isTest() && !strings.HasPrefix(s.path, "ci/") || strings.HasPrefix(path.Base(s.path), "example_") {
			continue
		}
		for f := range s.functions() {
			if !uncheckedIn(f.Name.Name) && contains(f, s.makesCloud) && !contains(f, setsMiddleware) {
				out = append(out, s.finding(f, "%s makes a cloud without Middleware, so that nothing compares its "+
					"answers with the OpenAPI document: use openapitest.Middleware or Sampled", f.Name.Name))
			}
		}
	}
	return out
}

// uncheckedIn returns whether the clouds of a function need no checker: examples show how New is used, bare and
// serveCloud are for tests that count allocations and time, and nothing is sent to the cloud of netns' TestMain.
func uncheckedIn(function string) bool {
	named := []string{"bare", "serveCloud", "TestMain"}
	return slices.Contains(named, function) || strings.HasPrefix(function, "Example")
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
		return types.ExprString(n.Key) == "Middleware" && types.ExprString(n.Value) != "nil"
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool {
			field, ok := to.(*ast.SelectorExpr)
			return ok && field.Sel.Name == "Middleware"
		})
	}
	return false
}
