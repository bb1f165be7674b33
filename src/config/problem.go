package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Path  string // of the key, "loadBalancer.creationPollInterval"; empty for the file as a whole
	Found string // what stands there, as the user wrote it; never a secret
	Want  string // what is allowed, as the end of a sentence: "a whole number of seconds from 1 to 3600"
}

// String is one line: the key, what was found, what is allowed.
func (p Problem) String() string {
	switch {
	case p.Path == "":
		return fmt.Sprintf("%s: %s", p.Found, p.Want)
	case p.Found == "":
		return fmt.Sprintf("%s: %s", p.Path, p.Want)
	}
	return fmt.Sprintf("%s: found %s, %s", p.Path, p.Found, p.Want)
}

// Problems is everything that is wrong with one file, in the order of the file, so that a user mends it in one go.
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

// Error lists the problems, one a line when there are several.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	lines := make([]string, 0, len(p)+1)
	lines = append(lines, fmt.Sprintf("%d problems:", len(p)))
	for _, problem := range p {
		lines = append(lines, "  * "+problem.String())
	}
	return strings.Join(lines, "\n")
}
