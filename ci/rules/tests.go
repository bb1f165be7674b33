package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Outside finds paths in tests that leave their Go module. Go reuses the result of a test also if files outside of its
// module have changed; checkout.Path makes the result depend on them.
func Outside(t *Tree) []string {
	var out []string
	for _, s := range t.sources {
		if !s.isTest() && !slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"testing"`
		}) {
			continue
		}
		module := t.module(path.Dir(s.path))
		ast.Inspect(s.file, func(n ast.Node) bool {
			name := relative(n)
			to := path.Join(path.Dir(s.path), name)
			if name == "" || to == module || strings.HasPrefix(to, module+"/") {
				return true
			}
			out = append(out, s.finding(n, "%s leaves the module in %s, and Go reuses the result of a test whatever "+
				"is there: use checkout.Path(t, %q) of src/emulator/checkout", name, module, to))
			return false
		})
	}
	return out
}

// module is the folder of the module that contains a folder.
func (t *Tree) module(dir string) string {
	for dir != "." && t.files[path.Join(dir, "go.mod")] == nil {
		dir = path.Dir(dir)
	}
	return dir
}

// relative is the path that a string names, or the first strings of a call of filepath.Join. It is empty if it does not
// begin with a folder above.
func relative(n ast.Node) string {
	name := ""
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			name, _ = strconv.Unquote(n.Value)
		}
	case *ast.CallExpr:
		function, isMethod := n.Fun.(*ast.SelectorExpr)
		for _, argument := range n.Args {
			literal, isLiteral := argument.(*ast.BasicLit)
			if !isMethod || function.Sel.Name != "Join" || !isLiteral {
				break
			}
			element, _ := strconv.Unquote(literal.Value)
			name += element + "/"
		}
	}
	if !strings.HasPrefix(name, "../") {
		return ""
	}
	return name
}

// RootPackages compares the variable root_packages of the Makefile with the packages whose tests call roottest.Need.
// make test-root tests these packages only.
func RootPackages(t *Tree) []string {
	want := map[string]bool{}
	for _, s := range t.sources {
		if s.isTest() && contains(s.file, needsRoot) {
			want["./"+path.Dir(s.path)] = true
		}
	}
	line := regexp.MustCompile(`(?m)^root_packages := (.*)$`).FindStringSubmatch(string(t.files["Makefile"]))
	if all := strings.Join(slices.Sorted(maps.Keys(want)), " "); line == nil || line[1] != all {
		return []string{"Makefile: the packages with tests that need root are root_packages := " + all}
	}
	return nil
}

// needsRoot returns whether a node is a call of roottest.Need for a test.
func needsRoot(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && types.ExprString(call.Fun) == "roottest.Need"
}
