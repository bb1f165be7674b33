// Package checkout finds files of this repository for tests, so that the result of a test is reused only while the
// files are the same.
//
//	content, err := os.ReadFile(checkout.Path(t, "examples/web.yaml"))
//
// Go reuses the result of a test if its code, the environment variables that it reads and the files below its own
// module that it opens are the same. Files outside of the module are not compared, and most tests here read some:
// charts, pages, examples, the sources of a program that they build and start. `make test` therefore puts a hash of
// the files of each folder into the environment, and Path reads the hash of what it returns.
package checkout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// Everything is the path of the repository itself.
	Everything = "."
	// marker is a file that only the root folder has.
	marker = "go.work"
	// prefix begins the names of the environment variables with hashes.
	prefix = "HASH_OF_"
	// depth is how many elements of a path have a hash of their own: src/emulator and docs/guides have one.
	depth = 2
)

// Root returns the absolute path of the repository that contains the working directory. Tests run in the folder of
// their package. The error says where it was looked for.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(filepath.Join(at, marker))
		if err == nil && info.Mode().IsRegular() {
			return at, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("finding the repository above %q: %w", dir, err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("finding the repository: no folder from %q upwards has a %s; run this inside a clone",
				dir, marker)
		}
	}
}

// Path returns the absolute path of a file or folder of this repository, which is named relative to its root and with
// slashes. The result of the test depends on it from then on. Everything is the whole repository. The test fails
// outside of a clone.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	root, err := Root()
	if err != nil {
		tb.Fatal(err)
	}
	DependOn(name)
	return filepath.Join(root, filepath.FromSlash(name))
}

// DependOn makes the result of the test that calls it depend on files and folders of this repository. A test that
// starts a program calls it with the folders that the program is built from.
func DependOn(names ...string) {
	for _, name := range names {
		os.Getenv(Variable(name))
	}
}

// Variable returns the name of the environment variable with the hash that covers a file or folder: that of its first
// elements. The same rule names what the program behind `make test` sets.
func Variable(name string) string {
	name = path.Clean(name)
	if name == Everything {
		return prefix + "EVERYTHING"
	}
	elements := strings.SplitN(name, "/", depth+1)
	key := strings.Join(elements[:min(len(elements), depth)], "/")
	return prefix + strings.Map(func(r rune) rune {
		if r == '/' || r == '.' || r == '-' {
			return '_'
		}
		return r
	}, key)
}
