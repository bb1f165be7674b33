package configfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Path  string // of the key, "loadBalancer.creationPollInterval"; empty for the file as a whole
	Line  int    // where it stands in the file; 0 for what is not there
	Found string // what stands there, as the user wrote it; never a secret
	Want  string // what is allowed, as the end of a sentence: "want a whole number of seconds from 1 to 3600"

	column int // within the line
}

// String is one line: the key, what was found, what is allowed.
func (p Problem) String() string {
	path := p.Path
	if path == "" {
		path = "the file"
	}
	if p.Found == "" {
		return fmt.Sprintf("%s: %s", path, p.Want)
	}
	return fmt.Sprintf("%s: found %s, %s", path, p.Found, p.Want)
}

// Problems is everything that is wrong with one file, so that a user mends it in one go.
// The zero value is an empty list, ready to use.
type Problems []Problem

// Add appends a problem.
func (p *Problems) Add(path, found, want string) {
	*p = append(*p, Problem{Path: path, Found: found, Want: want})
}

// Err is nil for an empty list, else the list as an error.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Lines is one line for each problem.
func (p Problems) Lines() []string {
	var lines []string
	for _, problem := range p {
		lines = append(lines, problem.String())
	}
	return lines
}

// Error lists the problems, one a line when there are several.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	return fmt.Sprintf("%d problems:\n  * %s", len(p), strings.Join(p.Lines(), "\n  * "))
}

// sorted is the order of the file; what is not in it comes last, in the order it was found.
func (p Problems) sorted() Problems {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		if a.Line == 0 || b.Line == 0 {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.column, b.column))
	})
	return sorted
}
