// Package released keeps the charts that were released, unpacked, in ci/released/<chart>/<version>: the tests upgrade
// from each of them to the chart of today. A folder there is never changed.
package released

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// dir is where released charts are kept, below the root of the repository.
const dir = "ci/released"

// Chart is one released version of a chart.
type Chart struct {
	Name, Version string
	// Dir is the folder that it is in.
	Dir string
}

// Cut keeps a copy of the chart charts/<name> below root under the version that its Chart.yaml says. What is there
// already is not overwritten: a version was released once. Pages for people are left out, their links lead elsewhere
// from there.
func Cut(root, name string) (Chart, error) {
	from := filepath.Join(root, "charts", name)
	loaded, err := chart.Load(from)
	if err != nil {
		return Chart{}, err
	}
	if loaded.Metadata.Name != name {
		return Chart{}, fmt.Errorf("cutting chart %s: its Chart.yaml calls it %s", name, loaded.Metadata.Name)
	}
	c := Chart{Name: name, Version: loaded.Metadata.Version}
	c.Dir = filepath.Join(root, filepath.FromSlash(dir), c.Name, c.Version)
	if err := os.MkdirAll(filepath.Dir(c.Dir), 0o755); err != nil {
		return Chart{}, fmt.Errorf("cutting chart %s: %w", name, err)
	}
	if err := os.Mkdir(c.Dir, 0o755); errors.Is(err, fs.ErrExist) {
		return Chart{},
			fmt.Errorf("cutting chart %s: %s is there already: a released version does not change, raise version in %s",
				name, c.Dir, filepath.Join(from, "Chart.yaml"))
	} else if err != nil {
		return Chart{}, fmt.Errorf("cutting chart %s: %w", name, err)
	}
	if err := copyFiles(os.DirFS(from), c.Dir); err != nil {
		return Chart{}, errors.Join(fmt.Errorf("cutting chart %s: %w", name, err), os.RemoveAll(c.Dir))
	}
	return c, nil
}

// copyFiles copies everything but pages for people.
func copyFiles(from fs.FS, to string) error {
	return fs.WalkDir(from, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(p))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if path.Ext(p) == ".md" {
			return nil
		}
		content, err := fs.ReadFile(from, p)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// All returns the released versions of every chart, sorted by their folders.
func All(root string) ([]Chart, error) {
	folders, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("finding released charts: %w", err)
	}
	charts := make([]Chart, 0, len(folders))
	for _, folder := range folders {
		loaded, err := chart.Load(folder)
		if err != nil {
			return nil, err
		}
		c := Chart{Name: filepath.Base(filepath.Dir(folder)), Version: filepath.Base(folder), Dir: folder}
		if loaded.Metadata.Name != c.Name || loaded.Metadata.Version != c.Version {
			return nil, fmt.Errorf("finding released charts: %s holds %s %s", folder, loaded.Metadata.Name,
				loaded.Metadata.Version)
		}
		charts = append(charts, c)
	}
	return charts, nil
}
