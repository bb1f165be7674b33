package debian

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Where the license texts are that copyright files refer to, and the name of the distribution, by which scanners select
// the list of vulnerabilities.
const (
	licenses     = "/usr/share/common-licenses/"
	distribution = "/etc/os-release"
)

// libraries are the folders in which the dynamic loader searches, by architecture.
func libraries(architecture string) []string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[architecture]
	return []string{"/usr/lib/" + triplet, "/usr/lib"}
}

// files returns the wanted files of packages, and what they need.
func (a Archive) files(ctx context.Context, packages []Package, architecture string, wanted []string) ([]File, error) {
	all, err := a.unpack(ctx, packages)
	if err != nil {
		return nil, err
	}
	files, err := all.choose(packages, architecture, wanted)
	if err != nil {
		return nil, fmt.Errorf("choosing files of Debian packages for %s: %w", architecture, err)
	}
	return files, nil
}

func (t tree) choose(packages []Package, architecture string, wanted []string) ([]File, error) {
	s := selection{tree: t, libraries: libraries(architecture), chosen: tree{}}
	for _, file := range append([]string{"/bin", "/sbin", distribution}, wanted...) {
		if err := s.add(file); err != nil {
			return nil, err
		}
	}
	for _, p := range packages {
		if !s.uses(p.Name) {
			return nil, fmt.Errorf("no file of the package %s is needed, so do not pin it", p.Name)
		}
		for _, file := range []string{"/usr/share/doc/" + p.Name + "/copyright", status + p.Name} {
			if err := s.add(file); err != nil {
				return nil, err
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if strings.HasPrefix(file, licenses) {
			s.chosen[file] = t[file]
		}
	}
	return slices.SortedFunc(maps.Values(s.chosen), func(x, y File) int { return strings.Compare(x.Path, y.Path) }), nil
}

// selection is the files that are chosen of a tree.
type selection struct {
	tree, chosen tree
	libraries    []string
}

// uses reports whether a file of a package is chosen.
func (s selection) uses(name string) bool {
	for _, file := range s.chosen {
		if file.owner == name {
			return true
		}
	}
	return false
}

// add chooses a file, and what it needs.
func (s selection) add(name string) error {
	name = s.follow(name)
	file, found := s.tree[name]
	if !found {
		if s.folder(name) {
			return nil
		}
		return fmt.Errorf("%s is in no pinned package", name)
	}
	if _, chosen := s.chosen[name]; chosen {
		return nil
	}
	s.chosen[name] = file
	needed, err := s.needs(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, other := range needed {
		if err := s.add(other); err != nil {
			return fmt.Errorf("%s needs %s: %w", name, path.Base(other), err)
		}
	}
	return nil
}

// folder reports whether there are files below a path.
func (s selection) folder(name string) bool {
	for file := range s.tree {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}

// follow chooses all symbolic links on the way to a file, and returns the path without them. Packages have no loops of
// links.
func (s selection) follow(name string) string {
	for at := 1; at <= len(name); at++ {
		if at < len(name) && name[at] != '/' {
			continue
		}
		link, found := s.tree[name[:at]]
		if !found || link.Mode.IsRegular() {
			continue
		}
		s.chosen[link.Path] = link
		target := link.Content
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(link.Path), target)
		}
		return s.follow(path.Join(target, name[at:]))
	}
	return name
}

// needs returns the loader and the libraries that a program or a library names itself.
func (s selection) needs(file File) ([]string, error) {
	binary, err := elf.NewFile(strings.NewReader(file.Content))
	if wrong := new(elf.FormatError); errors.As(err, &wrong) || len(file.Content) < elf.EI_NIDENT {
		return nil, nil // a text
	}
	if err != nil {
		return nil, err
	}
	names, err := binary.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	var needed []string
	if loader := binary.Section(".interp"); loader != nil {
		content, err := loader.Data()
		if err != nil {
			return nil, err
		}
		needed = append(needed, string(bytes.TrimRight(content, "\x00")))
	}
	for _, name := range names {
		needed = append(needed, s.library(name))
	}
	return needed, nil
}

// library is the path of a library, in the last folder if it is in none.
func (s selection) library(name string) (file string) {
	for _, folder := range s.libraries {
		file = path.Join(folder, name)
		if _, found := s.tree[file]; found {
			return file
		}
	}
	return file
}
