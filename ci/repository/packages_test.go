package repository

import (
	"fmt"
	"testing"
)

// folder is a package with a number of files, and as many tests.
func folder(into map[string]string, dir string, n int) {
	for i := range n {
		into[fmt.Sprintf("%s/f%d.go", dir, i)] = "package p\n"
		into[fmt.Sprintf("%s/f%d_test.go", dir, i)] = "package p\n"
	}
}

// TestPackages: 25 files are allowed in a package, and one more is not; tests do not count.
func TestPackages(t *testing.T) {
	files := map[string]string{}
	folder(files, "src/allowed", 25)
	folder(files, "src/large", 26)
	check(t, Packages, files, "src/large: 26 files without tests, at most 25: divide the package by concept")
}
