package repository

import (
	"fmt"
	"io/fs"
	"path"
)

// maxPackage is how many files a package has at most, without tests.
const maxPackage = 25

// largePackages maps the packages that are not divided yet to the number of their files, which must not grow.
func largePackages() map[string]int {
	return map[string]int{
		"src/thalassa": 32,
	}
}

// Packages finds packages with too many files, and exceptions that are no longer necessary.
func Packages(tree fs.FS) ([]Finding, error) {
	count := map[string]int{}
	err := sources(tree, func(s *source) {
		if !s.isTest() {
			count[path.Dir(s.path)]++
		}
	})
	var found []Finding
	exceptions := largePackages()
	for dir, n := range count {
		allowed, excepted := exceptions[dir]
		switch {
		case excepted && n <= maxPackage:
			found = append(found, Finding{dir, 0, fmt.Sprintf("%d files: remove the exception from largePackages", n)})
		case n > max(allowed, maxPackage):
			found = append(found,
				Finding{dir, 0, fmt.Sprintf("%d files without tests, at most %d: divide the package by concept",
					n, max(allowed, maxPackage))})
		}
	}
	return sorted(found), err
}
