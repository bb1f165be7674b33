package testrun

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// made are folders at the root whose files are made from the others, or are git's.
var made = []string{".git", "bin", "dist"} //nolint:gochecknoglobals // a constant

// hashes returns the variables with the hashes of the files and folders below root, as "name=value", sorted: those
// that [checkout.Variable] names. Names and contents count, and whether a file can be executed. Times do not. Unless
// withTests is set, tests of the modules count only in the hash of everything: no program is built from them.
func hashes(root string, withTests bool) ([]string, error) {
	sums := map[string]*strings.Builder{}
	add := func(name, line string) {
		variable := checkout.Variable(name)
		if sums[variable] == nil {
			sums[variable] = &strings.Builder{}
		}
		sums[variable].WriteString(line)
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(made, name):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		line, err := describe(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor's file that is gone again
		}
		if err != nil {
			return err
		}
		add(checkout.Everything, line)
		if strings.HasSuffix(name, "_test.go") && !withTests {
			return nil
		}
		add(name, line)
		if top, _, below := strings.Cut(name, "/"); below {
			add(top, line)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hashing the files that tests depend on: %w", err)
	}
	var variables []string
	for name, text := range sums {
		sum := sha256.Sum256([]byte(text.String()))
		variables = append(variables, name+"="+hex.EncodeToString(sum[:16]))
	}
	slices.Sort(variables)
	return variables, nil
}

// describe returns a line about a file that is another one if the file is.
func describe(root, name string) (string, error) {
	file := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	var content []byte
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		content = []byte(target)
	case info.Mode().IsRegular():
		if content, err = os.ReadFile(file); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%q %v %t %x\n", path.Clean(name), info.Mode().Type(), info.Mode()&0o100 != 0,
		sha256.Sum256(content)), nil
}

// Inputs returns the hashes of files and folders below root with their tests, a line each. Names have at most two
// elements. The error names a file or folder that does not exist.
func Inputs(root string, names []string) (string, error) {
	variables, err := hashes(root, true)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, name := range names {
		at := slices.IndexFunc(variables, func(v string) bool {
			return strings.HasPrefix(v, checkout.Variable(name)+"=")
		})
		if at < 0 {
			return "", fmt.Errorf("hashing %q: there is no such file or folder in %q", name, root)
		}
		lines.WriteString(variables[at] + "\n")
	}
	return lines.String(), nil
}

// noteChanges writes down the hashes of what has changed since the run began: with them, Go has stored results of
// tests that read the changed files. distrust makes later runs test again instead.
func (s *Server) noteChanges(begin []string) error {
	end, err := hashes(s.root, false)
	if err != nil {
		return err
	}
	changed := slices.DeleteFunc(slices.Clone(begin), func(v string) bool { return slices.Contains(end, v) })
	if len(changed) == 0 {
		return nil
	}
	file, err := os.OpenFile(s.changesFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("noting which files changed during the tests: %w", err)
	}
	_, err = file.WriteString(strings.Join(changed, "\n") + "\n")
	return errors.Join(err, file.Close())
}

// distrust returns the variables with other values for hashes that noteChanges has written down.
func (s *Server) distrust(variables []string) ([]string, error) {
	text, err := os.ReadFile(s.changesFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading which files changed during earlier tests: %w", err)
	}
	noted := strings.Split(string(text), "\n")
	out := slices.Clone(variables)
	for i, variable := range out {
		for _, line := range noted {
			if line == variable {
				out[i] += "x"
			}
		}
	}
	return out, nil
}

func (s *Server) changesFile() string { return filepath.Join(s.dir, "changed") }
