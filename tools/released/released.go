// Package released finds the charts that were released, which make cut keeps, unpacked, in
// ci/released/<chart>/<version>: the tests upgrade from each of them to the chart of today. A folder there is never
// changed.
package released

import (
	"fmt"
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
