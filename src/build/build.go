// Package build says which build of the sources a program is. The linker tells it:
//
//	go build -ldflags "-X github.com/thalassa-cloud/thalassa-ccm/src/build.version=v1.2.3
//		-X ….revision=0123… -X ….committed=2026-11-21T10:00:00Z"
//
// What the linker does not tell is said to be unknown; nothing is made up.
package build

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Set by the linker, which can set nothing else, and by nobody else.
//
//nolint:gochecknoglobals // see above
var version, revision, committed string

// unknown is what a build says that nobody told.
const unknown = "unknown"

// Info is what is known of a build.
type Info struct {
	Version   string // "v1.2.3", or what git describes the sources by; "devel" for a build outside git
	Revision  string // commit in git, with "-dirty" when the sources were others; "unknown"
	Committed string // when the commit was made, RFC 3339 in UTC; "unknown"
}

// Current is the build of the running program.
func Current() Info {
	return Info{Version: cmp.Or(version, "devel"), Revision: cmp.Or(revision, unknown),
		Committed: cmp.Or(committed, unknown)}
}

// String is one line for --version.
func (i Info) String() string {
	if i.Revision == unknown {
		return i.Version + " (built outside git: revision and time are unknown)"
	}
	return fmt.Sprintf("%s (revision %s of %s)", i.Version, i.Revision, i.Committed)
}

// Agent is what follows the program's name and a slash in a user agent (RFC 9110, section 10.1.5).
func (i Info) Agent() string { return fmt.Sprintf("%s (%s; %s)", i.Version, i.Revision, i.Committed) }

// Ref is where git has the sources: the tag of a release, otherwise the branch "main".
func (i Info) Ref() string {
	release := regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	// What git describes a commit by that has no tag, or a changed one.
	later := regexp.MustCompile(`-(\d+-g[0-9a-f]+|dirty)$`)
	if release.MatchString(i.Version) && !later.MatchString(i.Version) {
		return i.Version
	}
	return "main"
}

// Document returns the address of a document or a folder of the repository, such as "docs/guides/kubectl.md", in the
// version of the program.
func (i Info) Document(path string) string {
	return "https://github.com/thalassa-cloud/thalassa-ccm/blob/" + i.Ref() + "/" + path
}

// Collector is the metric PREFIX_build_info: always 1, with what is known as labels.
func (i Info) Collector(prefix string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_build_info",
		Help: "Build of the program. The value is always 1.",
		ConstLabels: prometheus.Labels{
			"version": i.Version, "revision": i.Revision, "committed": i.Committed, "go_version": runtime.Version(),
		},
	})
	info.Set(1)
	return info
}
