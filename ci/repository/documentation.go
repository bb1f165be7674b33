package repository

import (
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// emptyNames are package names that say nothing, so that everything ends up there.
func emptyNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}
}

// Documentation finds packages and exported names without a comment, and package names without a meaning.
func Documentation(tree fs.FS) ([]Finding, error) {
	var found []Finding
	described := map[string]bool{} // folder -> some file has the package comment
	err := sources(tree, func(s *source) {
		if s.isTest() {
			return
		}
		dir := path.Dir(s.path)
		described[dir] = described[dir] || s.file.Doc != nil
		if slices.Contains(emptyNames(), s.file.Name.Name) {
			found = append(found, s.finding(s.file.Name, "package %s: name it for what it provides", s.file.Name.Name))
		}
		found = append(found, undocumented(s)...)
	})
	for dir, ok := range described {
		if !ok {
			found = append(found,
				Finding{dir, 0, "the package has no comment: say what it provides and when to use it"})
		}
	}
	return sorted(found), err
}

// undocumented finds the exported top-level names of a file that have no comment.
func undocumented(s *source) []Finding {
	var found []Finding
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
				found = append(found, s.finding(d, "exported %s has no comment", d.Name.Name))
			}
		case *ast.GenDecl:
			found = append(found, undocumentedSpecs(s, d)...)
		}
	}
	return found
}

// exportedReceiver reports whether a function can be reached from outside: it has no receiver or an exported one.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

// undocumentedSpecs checks one type, const or var declaration; a comment on a group counts for its members.
func undocumentedSpecs(s *source, d *ast.GenDecl) []Finding {
	var found []Finding
	for _, spec := range d.Specs {
		name := undocumentedSpec(spec)
		if name != "" && d.Doc == nil {
			found = append(found, s.finding(spec, "exported %s has no comment", name))
		}
	}
	return found
}

// undocumentedSpec gives the exported names of a declaration that has no comment of its own, or "".
func undocumentedSpec(spec ast.Spec) string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && spec.Comment == nil && spec.Name.IsExported() {
			return spec.Name.Name
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil {
			return exportedNames(spec.Names)
		}
	}
	return ""
}

// exportedNames joins those names that other packages can see.
func exportedNames(names []*ast.Ident) string {
	var out []string
	for _, n := range names {
		if n.IsExported() {
			out = append(out, n.Name)
		}
	}
	return strings.Join(out, ", ")
}
