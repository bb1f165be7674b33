// Package release makes everything that is published of a version, out of the sources of one commit, in one folder:
// images, charts, Kustomize bundle, what they are made of and how, signatures, notes. Whoever has the commit can make
// the same again.
package release

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

const (
	// Registry is where releases are published.
	Registry   = image.Registry
	repository = "https://github.com/thalassa-cloud/thalassa-ccm"
	license    = "Apache-2.0"
)

// Source is what a release is made from.
type Source struct {
	Root      string // of the repository
	Version   string // "v1.2.3" or "v1.2.3-rc.1"
	Revision  string // commit in git, 40 hex digits
	Committed time.Time
}

var (
	versions  = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	revisions = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Check returns all that stands against releasing from this source.
func (s Source) Check() error {
	var problems []error
	if !versions.MatchString(s.Version) {
		problems = append(problems, fmt.Errorf("version %q: want one like v1.2.3 or v1.2.3-rc.1", s.Version))
	}
	switch {
	case strings.HasSuffix(s.Revision, "-dirty"):
		problems = append(problems,
			errors.New(
				"not everything is committed: a release is made from a commit, so that others can make it again"))
	case !revisions.MatchString(s.Revision):
		problems = append(problems, fmt.Errorf("revision %q: want the commit; a release is made inside a git clone",
			s.Revision))
	}
	if s.Committed.IsZero() {
		problems = append(problems, errors.New("the time of the commit is not known"))
	}
	return errors.Join(problems...)
}

// Number is the version without "v": what charts call it, and the tag of everything in a registry.
func (s Source) Number() string { return number(s.Version) }

func number(version string) string { return strings.TrimPrefix(version, "v") }

// stamp is what images contain.
func (s Source) stamp() image.Stamp {
	return image.Stamp{Version: s.Version, Revision: s.Revision, Committed: s.Committed}
}

// annotations are those of every artifact of a release (OCI image specification, annotations).
func (s Source) annotations(title, description string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": title, prefix + "description": description, prefix + "version": s.Number(), prefix +
			"revision": s.Revision,
		prefix + "created": s.Committed.UTC().Format(time.RFC3339), prefix + "source": repository, prefix +
			"licenses": license,
	}
}
