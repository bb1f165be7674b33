package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// Where the list of a release lies in a registry, and its type.
const (
	listRepository = "release"
	listType       = "application/vnd.thalassa-cloud.ccm.release.v1+json"
)

// List is everything a release consists of. It is an artifact of the release itself, signed, so that one signature
// covers all.
type List struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Items    []Item `json:"items"`
}

// Item is one artifact.
type Item struct {
	Kind       Kind   `json:"kind"`
	Repository string `json:"repository"` // below the registry's path
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest"`
	// Subject is the digest of what an SBOM or provenance is attached to, and of what a signature signs.
	Subject string `json:"subject,omitempty"`
}

// Kind says what an artifact is.
type Kind string

// Kinds of artifacts.
const (
	KindImage      Kind = "image"
	KindChart      Kind = "chart"
	KindBundle     Kind = "bundle"
	KindPlugin     Kind = "plugin"
	KindSBOM       Kind = "sbom"
	KindProvenance Kind = "provenance"
	KindSignature  Kind = "signature"
)

// signed reports whether artifacts of that kind have a signature of their own.
func (k Kind) signed() bool {
	return slices.Contains([]Kind{KindImage, KindChart, KindBundle, KindPlugin}, k)
}

// of returns the items of a kind.
func (l List) of(kind Kind) []Item {
	return slices.DeleteFunc(slices.Clone(l.Items), func(item Item) bool { return item.Kind != kind })
}

// Images are all container images with their digests, one on a line, for those who copy them by themselves.
func (l List) Images(registry string) string {
	var lines strings.Builder
	for _, item := range l.of(KindImage) {
		fmt.Fprintf(&lines, "%s/%s:%s@%s\n", registry, item.Repository, item.Tag, item.Digest)
	}
	return lines.String()
}

// Artifact is the list as registries have it.
func (l List) Artifact(s Source) (artifact.Manifest, error) {
	content, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return artifact.Manifest{}, fmt.Errorf("writing the list of the release: %w", err)
	}
	return artifact.Manifest{
		Type: listType, Layers: []artifact.Blob{{Type: listType, Content: content}},
		Annotations: s.annotations("thalassa-ccm-release", "Everything that thalassa-ccm "+l.Version+" consists of"),
	}, nil
}

// readList is the other way.
func readList(image v1.Image) (List, error) {
	content, err := artifact.Content(image)
	if err != nil {
		return List{}, fmt.Errorf("reading the list of the release: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	var list List
	if err := decoder.Decode(&list); err != nil {
		return List{}, fmt.Errorf("reading the list of the release: %w; it may be of a newer version of this program",
			err)
	}
	return list, nil
}
