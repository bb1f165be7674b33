package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// current is the link that names the directory with the present content, as in kubelet's volumes,
// whose readers know it: config watchers follow exactly this link.
const current = "..data"

// file is one file of a volume.
type file struct {
	data []byte
	mode fs.FileMode
}

// payload is the content of a volume by relative path.
type payload map[string]file

// write makes a directory hold a payload. All files change at once: they lie in a directory of
// their own, and one rename of a link switches from the old to the new one.
func write(dir string, p payload) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a volume directory: %w", err)
	}
	old, err := os.Readlink(filepath.Join(dir, current))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the present version: %w", err)
	}
	version, err := writeVersion(dir, p)
	if err != nil {
		return err
	}
	if err := errors.Join(link(dir, version, current), expose(dir, p)); err != nil {
		return err
	}
	if old == "" {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
		return fmt.Errorf("removing the previous version: %w", err)
	}
	return nil
}

// writeVersion writes the payload into a fresh directory and returns its name.
func writeVersion(dir string, p payload) (string, error) {
	root, err := os.MkdirTemp(dir, "..version-")
	if err != nil {
		return "", fmt.Errorf("making a directory for a new version: %w", err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return "", fmt.Errorf("opening up the new version: %w", err)
	}
	for name, f := range p {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", fmt.Errorf("making the directory of %q: %w", name, err)
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return "", fmt.Errorf("writing %q: %w", name, err)
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return "", fmt.Errorf("setting the mode of %q: %w", name, err)
		}
	}
	return filepath.Base(root), nil
}

// link makes or replaces a symbolic link in one step.
func link(dir, target, name string) error {
	temporary := filepath.Join(dir, "..new")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a left-over link: %w", err)
	}
	if err := os.Symlink(target, temporary); err != nil {
		return fmt.Errorf("linking %q: %w", name, err)
	}
	if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("switching %q: %w", name, err)
	}
	return nil
}

// expose gives every file, or the first directory on the way to it, a name beside the link, and
// takes away the names of what the payload no longer has.
func expose(dir string, p payload) error {
	names := map[string]bool{}
	for path := range p {
		first, _, _ := strings.Cut(path, "/")
		names[first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing a volume: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		if names[e.Name()] {
			delete(names, e.Name())
		} else if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing %q: %w", e.Name(), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := link(dir, filepath.Join(current, name), name); err != nil {
			return err
		}
	}
	return nil
}
