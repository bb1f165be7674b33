package repository

import (
	"go/ast"
	"io/fs"
)

// fatal is what to do instead of ending the process.
const fatal = "return the error; main decides about the exit code"

// forbidden maps a call, as it is written, to what to do instead.
func forbidden() map[string]string {
	const (
		wait = "wait for the condition itself, or use testing/synctest"
		skip = "make the test bring what it needs, or put it where its needs are met"
	)
	return map[string]string{
		"time.Sleep":  wait,
		"log.Fatal":   fatal,
		"log.Fatalf":  fatal,
		"log.Fatalln": fatal,
		"klog.Fatal":  fatal,
		"klog.Fatalf": fatal,
		"t.Skip":      skip,
		"t.Skipf":     skip,
		"t.SkipNow":   skip,
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
			if instead, ok := bad[name]; ok && !excused(s, name, instead) {
				found = append(found, s.finding(call, "%s is not used here: %s", name, instead))
			}
			return true
		})
	})
	return sorted(found), err
}

// excused tells whether a call is in a place where it is at home.
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
