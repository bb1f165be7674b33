package rules

import (
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// contributing has the table of promises.
	contributing = "CONTRIBUTING.md"
	// minPromises is how many rows the table has at least.
	minPromises = 20
	// fullTier are the folders that only make test-full tests.
	fullTier = "ci/slow ci/e2e"
)

// Promises finds errors in the table of promises: tests that do not exist, tests of the quick tier that run in the full
// tier only, promises that no test proves, and rows that are missing.
func Promises(t *Tree) []string {
	_, before, _ := strings.Cut(string(t.files[contributing]), "\n## Promises\n")
	section, _, _ := strings.Cut(before, "\n## ")
	start := strings.Count(string(t.files[contributing]), "\n") - strings.Count(before, "\n") + 1
	var out []string
	rows := -2 // without the names of the columns, and the line below them
	for i, line := range strings.Split(section, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if rows++; rows > 0 {
			for _, problem := range t.promise(line) {
				out = append(out, found(contributing, start+i, "%s", problem))
			}
		}
	}
	if rows < minPromises {
		out = append(out, found(contributing, start-1, "the table of promises has %d rows, at least %d", max(rows, 0),
			minPromises))
	}
	return out
}

// promise returns what is wrong with a row of the table.
func (t *Tree) promise(row string) []string {
	cells := strings.Split(strings.Trim(row, "|"), "|")
	if len(cells) != 3 {
		return []string{"a row has three cells: the promise, and the tests of both tiers"}
	}
	var out []string
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w*)(?:/[^`]*)?` \\(`([^`]+)`\\)")
	proven := false
	for column, cell := range cells[1:] {
		for _, match := range named.FindAllStringSubmatch(cell, -1) {
			proven = true
			if problem := t.proof(match[1], match[2], column == 0); problem != "" {
				out = append(out, problem)
			}
		}
		if rest := strings.Trim(named.ReplaceAllString(cell, ""), " ,;"); rest != "" && rest != "-" {
			out = append(out, "`TestName` (`path/of/package`), or - without a test, and not: "+rest)
		}
	}
	if !proven {
		out = append(out, "no test proves: "+strings.TrimSpace(cells[0]))
	}
	return out
}

// proof returns what is wrong with a test of a package, which the quick tier runs or not.
func (t *Tree) proof(name, pkg string, quick bool) string {
	for _, s := range t.sources {
		if path.Dir(s.path) != pkg || !s.isTest() {
			continue
		}
		for f := range s.functions() {
			switch {
			case f.Name.Name != name || f.Recv != nil:
			case quick && (below(pkg, fullTier) || slices.ContainsFunc(f.Body.List, needsFull)):
				return name + " (" + pkg + ") does not run in make test: move it to the last column"
			default:
				return ""
			}
		}
	}
	return "there is no " + name + " in " + pkg
}

// needsFull returns whether a statement calls tier.NeedFull. One in a subtest is about the subtest only.
func needsFull(s ast.Stmt) bool {
	call, ok := s.(*ast.ExprStmt)
	return ok && strings.HasPrefix(types.ExprString(call.X), "tier.NeedFull(")
}
