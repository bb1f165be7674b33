package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// current is the name under which kubelet's volumes have the directory with the present content. Readers that want
// files of one version resolve it.
const current = "..data"

// file is one file of a volume.
type file struct {
	data []byte
	mode fs.FileMode
}

// payload is the content of a volume by relative path.
type payload map[string]file

// write makes a volume hold a payload. All files change at once: the volume is a link to a directory beside it, and
// another link takes its place.
func write(volume string, p payload) error {
	if err := os.MkdirAll(filepath.Dir(volume), 0o755); err != nil {
		return fmt.Errorf("making a directory for volumes: %w", err)
	}
	old, err := os.Readlink(volume)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the present version: %w", err)
	}
	version, err := os.MkdirTemp(filepath.Dir(volume), "..version-")
	if err != nil {
		return fmt.Errorf("making a directory for a new version: %w", err)
	}
	if err := fill(version, p); err != nil {
		return fmt.Errorf("writing a new version: %w", err)
	}
	if err := renameio.Symlink(filepath.Base(version), volume); err != nil {
		return fmt.Errorf("switching to a new version: %w", err)
	}
	if old == "" {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(volume), old)); err != nil {
		return fmt.Errorf("removing the previous version: %w", err)
	}
	return nil
}

// fill writes the payload into a new directory. The modes do not depend on the umask.
func fill(dir string, p payload) error {
	if err := errors.Join(os.Chmod(dir, 0o755), os.Symlink(".", filepath.Join(dir, current))); err != nil {
		return err
	}
	for name, f := range p {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := errors.Join(os.WriteFile(path, f.data, 0o600), os.Chmod(path, f.mode)); err != nil {
			return err
		}
	}
	return nil
}
