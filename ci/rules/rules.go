// Package rules has the rules of this repository that no linter has. A rule is a function over the files of a
// repository, which returns what breaks it, so that small trees of files test it. TestRules applies all rules to this
// repository.
package rules

// Rule returns what breaks it, each as `file: message` or `file:line: message`, in any order.
type Rule func(*Tree) []string

// Rules returns the rules that need nothing but the files, by name.
func Rules() map[string]Rule {
	return map[string]Rule{
		"big files": BigFiles,
		"clouds":    Clouds,
		"links":     Links,
		"modules":   Modules,
		"outside":   Outside,
		"packages":  Packages,
		"paths":     LocalPaths,
		"promises":  Promises,
		"root":      RootPackages,
		"sizes":     Sizes,
		"widths":    Widths,
		"workflows": Workflows,
	}
}
