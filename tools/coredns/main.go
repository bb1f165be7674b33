// Command coredns is CoreDNS with the plug-ins that a cluster of this repository needs: those in the Corefile of the
// chart in the folder chart. With all its plug-ins, it would link the clients of several clouds.
//
// It is a module of its own, outside the workspace, so that no other module has to have its libraries in its versions.
// Where the lab has the same library, it has the same version: what is the same is compiled once.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() { coremain.Run() }
