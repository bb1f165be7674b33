package repository

import (
	"go/ast"
	"go/types"
	"io/fs"
	"slices"
)

// fatal is what to do instead of ending the process.
const fatal = "return the error; main decides about the exit code"

const (
	// skipper is the file with the only function that may skip tests, Need.
	skipper = "src/emulator/roottest/roottest.go"
	// unskipped is what to do instead of skipping a test.
	unskipped = "make the test bring what it needs, or call roottest.Need if that is root or a program of the " +
		"distribution"
)

// forbidden maps a call, as it is written, to what to do instead.
func forbidden() map[string]string {
	const (
		wait = "wait for the condition itself, or use testing/synctest"
	)
	return map[string]string{
		"time.Sleep":  wait,
		"log.Fatal":   fatal,
		"log.Fatalf":  fatal,
		"log.Fatalln": fatal,
		"klog.Fatal":  fatal,
		"klog.Fatalf": fatal,
		"panic":       "return an error",
	}
}

// Calls finds calls that this repository does without. Tests may panic, and a main function may end the process.
func Calls(tree fs.FS) ([]Finding, error) {
	var found []Finding
	bad := forbidden()
	err := sources(tree, func(s *source) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := callee(call.Fun)
			instead := bad[name]
			if skips(call.Fun) && !s.isSkipper(call) {
				instead = unskipped
			}
			if instead != "" && !excused(s, name, instead) {
				found = append(found, s.finding(call, "%s is not used here: %s", types.ExprString(call.Fun), instead))
			}
			return true
		})
	})
	return sorted(found), err
}

// skips reports whether a called function skips a test, which is called t, tb, b or f, or is a field of that name.
func skips(fun ast.Expr) bool {
	method, ok := fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
		return false
	}
	var test string
	switch x := method.X.(type) {
	case *ast.Ident:
		test = x.Name
	case *ast.SelectorExpr:
		test = x.Sel.Name
	}
	return slices.Contains([]string{"t", "tb", "b", "f"}, test)
}

// isSkipper reports whether a node is in the only function that may skip tests.
func (s *source) isSkipper(n ast.Node) bool {
	return s.path == skipper && slices.ContainsFunc(s.functions(), func(f *ast.FuncDecl) bool {
		return f.Name.Name == "Need" && f.Recv == nil && f.Pos() <= n.Pos() && n.End() <= f.End()
	})
}

// excused reports whether a call is in a place where it is at home.
func excused(s *source, name, instead string) bool {
	return name == "panic" && s.isTest() || instead == fatal && s.file.Name.Name == "main"
}

// callee is the called function as written: "f" or "x.f", "" for anything longer.
func callee(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}
