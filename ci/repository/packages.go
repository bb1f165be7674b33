package repository

import (
	"fmt"
	"io/fs"
	"path"
)

// maxPackage is how many files a package has at most, without tests.
const maxPackage = 25

// Packages finds packages with too many files.
func Packages(tree fs.FS) ([]Finding, error) {
	count := map[string]int{}
	err := sources(tree, func(s *source) {
		if !s.isTest() {
			count[path.Dir(s.path)]++
		}
	})
	var found []Finding
	for dir, n := range count {
		if n > maxPackage {
			found = append(found, Finding{dir, 0,
				fmt.Sprintf("%d files without tests, at most %d: divide the package by concept", n, maxPackage)})
		}
	}
	return sorted(found), err
}
