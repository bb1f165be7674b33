package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// complete returns all that the list of a release lacks: it is signed, but so would be one that a mistake has left half
// empty.
func (l List) complete() error {
	var problems []error
	for _, program := range image.Programs() {
		if _, found := l.image(program.Repository); !found {
			problems = append(problems, fmt.Errorf("no image %s", program.Repository))
		}
	}
	for _, program := range charted() {
		if !slices.ContainsFunc(l.of(KindChart), func(i Item) bool { return i.Repository == "charts/"+program.Chart }) {
			problems = append(problems, fmt.Errorf("no chart %s", program.Chart))
		}
	}
	for _, kind := range []Kind{KindBundle, KindPlugin} {
		if len(l.of(kind)) == 0 {
			problems = append(problems, fmt.Errorf("no %s", kind))
		}
	}
	for _, item := range l.Items {
		if !item.Kind.signed() {
			continue
		}
		if item.Tag != number(l.Version) {
			problems = append(problems, fmt.Errorf("%s %s has the tag %q, want %q", item.Kind, item.Repository,
				item.Tag, number(l.Version)))
		}
		for _, kind := range []Kind{KindSignature, KindProvenance} {
			if !l.has(kind, item.Repository, item.Digest) {
				problems = append(problems, fmt.Errorf("no %s of %s %s", kind, item.Kind, item.Repository))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("the list of release %s is not complete: %w", l.Version, errors.Join(problems...))
	}
	return nil
}

// image returns the image in a repository.
func (l List) image(repository string) (Item, bool) {
	images := l.of(KindImage)
	i := slices.IndexFunc(images, func(item Item) bool { return item.Repository == repository })
	if i < 0 {
		return Item{}, false
	}
	return images[i], true
}

// has reports whether the list names something of a kind about a digest.
func (l List) has(kind Kind, repository, subject string) bool {
	return len(l.about(kind, repository, subject)) > 0
}

// about returns what the list names of a kind about a digest.
func (l List) about(kind Kind, repository, subject string) []Item {
	return slices.DeleteFunc(l.of(kind), func(item Item) bool {
		return item.Repository != repository || item.Subject != subject
	})
}

// describes fails when the list has no SBOM of one of an image's platforms.
func (l List) describes(item Item, index *v1.IndexManifest) error {
	for _, descriptor := range index.Manifests {
		if !l.has(KindSBOM, item.Repository, descriptor.Digest.String()) {
			return fmt.Errorf("no SBOM of its image for %s, %s", descriptor.Platform, descriptor.Digest)
		}
	}
	return nil
}

// agrees fails when a provenance is about something else than its subject, or names another commit than the list.
func (l List) agrees(item Item, provenance v1.Image) error {
	content, err := artifact.Content(provenance)
	if err != nil {
		return err
	}
	var statement struct {
		Subject []struct {
			Digest struct {
				SHA256 string `json:"sha256"`
			} `json:"digest"`
		} `json:"subject"`
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					Digest struct {
						GitCommit string `json:"gitCommit"`
					} `json:"digest"`
				} `json:"resolvedDependencies"`
			} `json:"buildDefinition"`
		} `json:"predicate"`
	}
	if err := json.Unmarshal(content, &statement); err != nil {
		return fmt.Errorf("reading the statement: %w", err)
	}
	if len(statement.Subject) != 1 || "sha256:"+statement.Subject[0].Digest.SHA256 != item.Subject {
		return fmt.Errorf("its statement is not about %s, which it is attached to", item.Subject)
	}
	var commits []string
	for _, dependency := range statement.Predicate.BuildDefinition.ResolvedDependencies {
		if dependency.Digest.GitCommit != "" {
			commits = append(commits, dependency.Digest.GitCommit)
		}
	}
	if !slices.Equal(commits, []string{l.Revision}) {
		return fmt.Errorf("its statement names the commit %q, the list %s", strings.Join(commits, ", "), l.Revision)
	}
	return nil
}

// runs fails when a chart's values name another image than the release's of the program that the chart is for.
func (l List) runs(packed v1.Image) error {
	archive, err := artifact.Content(packed)
	if err != nil {
		return err
	}
	chart, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	programs := charted()
	i := slices.IndexFunc(programs, func(p image.Program) bool { return p.Chart == chart.Name() })
	if i < 0 {
		return fmt.Errorf("no program of this version has the chart %s", chart.Name())
	}
	want, _ := l.image(programs[i].Repository)
	values, _ := chart.Values["image"].(map[string]any)
	if values["digest"] != want.Digest {
		return fmt.Errorf("its value image.digest is %q, the release's image is %s", values["digest"], want.Digest)
	}
	return nil
}
