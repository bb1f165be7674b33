// Package image builds the container images of this project from its sources: without Docker, without root, and with
// the same digest wherever and whenever one commit is built.
//
//	index, err := image.Build(ctx, root, image.Programs()[0], stamp)
//	err = image.WriteLayout("dist/images/thalassa-emulator", index)
//
// An image is a list of layers, and a layer a list of files, so that one that needs more than a program gets another
// layer.
package image

import (
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
)

// Program is one that is built for several platforms. Most get an image of their own.
type Program struct {
	Name        string   // of the folder in the module's folder cmd, and of the file in the image
	Module      string   // folder of the Go module: "src"
	Stamped     string   // package in which the linker sets version, revision and committed
	Repository  string   // below the registry's own path: "cloud-controller-manager"
	Title       string   // for org.opencontainers.image.title
	Description string   // one sentence
	Arguments   []string // used when whoever runs the image gives none
	Health      []string // command that Docker checks the health of a container with; empty if there is none
	Folders     []string // in which the program may write, for volumes
	// Debian are paths of programs of Debian that it starts, and of their configuration. What these need is in the
	// image, too.
	Debian []string
	// Names are other names of the executable, under which it is another program: symbolic links to it.
	Names []string
	Chart string // name of the chart that runs it; empty if there is none
}

// Programs are those with images.
func Programs() []Program {
	return []Program{
		{
			Name: "thalassa-cloud-controller-manager", Repository: "cloud-controller-manager", Title: "thalassa-ccm",
			Module: "src", Stamped: "github.com/thalassa-cloud/thalassa-ccm/src/build",
			Description: "Cloud controller manager that connects a Kubernetes cluster to Thalassa Cloud or IronCore",
			Names:       []string{"kubectl-thalassa", "kubectl_complete-thalassa"},
			Chart:       "thalassa-ccm",
		},
		{
			Name: "thalassa-emulator", Repository: "emulator", Title: "thalassa-emulator",
			Module: "src/emulator", Stamped: "main",
			Description: "Thalassa Cloud in a box: its REST API, for tests of clients, controllers and pipelines",
			Arguments:   []string{"--listen=0.0.0.0:8080"},
			Health:      []string{"/thalassa-emulator", "health", "--endpoint=http://127.0.0.1:8080"},
			Folders:     []string{"/state"},
		},
		{
			Name: "thalassa-csi-driver", Repository: "csi-driver", Title: "thalassa-csi",
			Module: "src", Stamped: "github.com/thalassa-cloud/thalassa-ccm/src/build",
			Description: "CSI driver that gives the pods of a Kubernetes cluster volumes of Thalassa Cloud",
			Debian:      debian.NodePrograms(),
			Chart:       "thalassa-csi",
		},
	}
}

// platforms are those that every image is built for.
func platforms() []v1.Platform {
	return []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
}

// Stamp says which sources an image is built from. Everything in an image that depends on time depends on this alone.
type Stamp struct {
	Version   string    // "v1.2.3", or what git describes the sources by
	Revision  string    // commit in git; empty outside git
	Committed time.Time // when the commit was made; zero outside git
}

// tag is what the images are called in registries, layouts and archives: the version without "v", as charts have it.
func (s Stamp) tag() string { return strings.TrimPrefix(s.Version, "v") }

// created is the time of everything in an image: the commit's, else the beginning of Unix time, which is not taken for
// a real one.
func (s Stamp) created() time.Time {
	if s.Committed.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return s.Committed.UTC()
}

// committed is the time of the commit in RFC 3339, empty when it is not known.
func (s Stamp) committed() string {
	if s.Committed.IsZero() {
		return ""
	}
	return s.Committed.UTC().Format(time.RFC3339)
}
