package repository

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
)

// The size budget: what a reader can hold in mind. Lines include comments and blank lines.
const (
	maxFile     = 700 // a file; 400 is recommended
	maxFunction = 80  // any function
	p90Function = 22  // nine functions of ten
	p50Function = 10  // every second function
)

// Sizes finds files and functions that are too long.
func Sizes(tree fs.FS) ([]Finding, error) {
	var found []Finding
	err := sources(tree, func(s *source) {
		if n := lines(s.text); n > maxFile {
			found = append(found, Finding{s.path, 0, fmt.Sprintf("%d lines, at most %d: split it by concept", n,
				maxFile)})
		}
		for _, f := range s.functions() {
			if n := s.length(f); n > maxFunction {
				found = append(found, s.finding(f, "function %s has %d lines, at most %d: give its steps names",
					f.Name.Name, n, maxFunction))
			}
		}
	})
	return sorted(found), err
}

// lines counts the way an editor does.
func lines(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1
}

// Statistics describes how the code of a tree is cut. Lengths are in lines.
type Statistics struct {
	// Code and Tests are the lines of production code and of tests.
	Code, Tests int
	// Functions counts those of production code; Median and P90 are their lengths.
	Functions, Median, P90 int
}

// Measure takes the statistics of a tree; generated files do not count.
func Measure(tree fs.FS) (Statistics, error) {
	var (
		st      Statistics
		lengths []int
	)
	err := sources(tree, func(s *source) {
		if s.isTest() {
			st.Tests += lines(s.text)
			return
		}
		st.Code += lines(s.text)
		for _, f := range s.functions() {
			lengths = append(lengths, s.length(f))
		}
	})
	slices.Sort(lengths)
	st.Functions = len(lengths)
	st.Median, st.P90 = percentile(lengths, 50), percentile(lengths, 90)
	return st, err
}

// Problems says where the statistics are over budget.
func (st Statistics) Problems() []string {
	var out []string
	if st.Median > p50Function {
		out = append(out, fmt.Sprintf("the median function has %d lines, at most %d", st.Median, p50Function))
	}
	if st.P90 > p90Function {
		out = append(out, fmt.Sprintf("one function in ten has more than %d lines, at most %d", st.P90, p90Function))
	}
	if st.Tests < st.Code {
		out = append(out, fmt.Sprintf("%d lines of tests for %d lines of code: there should be at least as many",
			st.Tests, st.Code))
	}
	return out
}

// percentile is the smallest length that p percent of the sorted lengths do not exceed; 0 without any.
func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
