package demo

import (
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/tools/rundir"
)

// folderPrefix starts the names of all demo folders in the system's folder for temporary files.
const folderPrefix = "thalassa-ccm-demo-"

// demos is where demos have their folders. A demo's processes die with it, so its folder is all that a killed one
// leaves.
func demos() rundir.Location { return rundir.Location{Parent: os.TempDir(), Prefix: folderPrefix} }

// openFolder makes the folder of this demo, and first removes those of earlier ones that were killed before they could.
// A path is one that the user has chosen.
func openFolder(path string, t *printer) (*rundir.Dir, error) {
	if path != "" {
		return rundir.Use(path)
	}
	removed, err := demos().Clean()
	for _, stale := range removed {
		t.say("Removed what an earlier demo that was killed left behind: %s", stale)
	}
	if err != nil {
		t.say("What an earlier demo that was killed left behind is still there: %v", err)
	}
	return demos().Make()
}
