// Command kubectl-thalassa is the plug-in of kubectl that shows what the cloud controller manager sees and does:
// kubectl thalassa.
package main

import (
	"os"

	"github.com/thalassa-cloud/thalassa-ccm/src/cmd/clouds"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

func main() { os.Exit(plugin.Main(os.Args, clouds.Providers)) }
