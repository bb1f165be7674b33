package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// Media types of charts in registries (Helm, "OCI-based registries").
const (
	chartConfigType = "application/vnd.cncf.helm.config.v1+json"
	chartLayerType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// Chart is a packed chart.
type Chart struct {
	Name    string
	Version string // without "v"
	Archive []byte
	config  []byte // what a registry keeps as the artifact's configuration: Chart.yaml as JSON
	about   map[string]string
}

// File is the name of the archive.
func (c Chart) File() string { return c.Name + "-" + c.Version + ".tgz" }

// Artifact is the chart as registries have it.
func (c Chart) Artifact() artifact.Manifest {
	return artifact.Manifest{
		Config:      artifact.Blob{Type: chartConfigType, Content: c.config},
		Layers:      []artifact.Blob{{Type: chartLayerType, Content: c.Archive}},
		Annotations: c.about,
	}
}

// PackChart packs the chart in folder as a release: with the digest of its image among its values, so that what was
// tested is what runs, and with what Artifact Hub shows. The image is imageName below Registry. The same release gives
// the same bytes. It fails for a chart of another version.
func PackChart(folder, imageName, digest string, s Source) (Chart, error) {
	scratch, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return Chart{}, fmt.Errorf("packing the chart %s: %w", folder, err)
	}
	defer os.RemoveAll(scratch)
	chart, err := packChart(folder, scratch, imageName, digest, s)
	if err != nil {
		return Chart{}, fmt.Errorf("packing the chart %s: %w", folder, err)
	}
	return chart, nil
}

func packChart(folder, scratch, imageName, digest string, s Source) (Chart, error) {
	copied := filepath.Join(scratch, filepath.Base(folder))
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		return Chart{}, err
	}
	if err := setDigest(filepath.Join(copied, "values.yaml"), digest); err != nil {
		return Chart{}, err
	}
	if err := writePages(copied, folder, s); err != nil {
		return Chart{}, err
	}
	chart, err := loader.Load(copied)
	if err != nil {
		return Chart{}, err
	}
	if m := chart.Metadata; m.Version != s.Number() || m.AppVersion != s.Number() {
		return Chart{}, fmt.Errorf("its Chart.yaml says version %s and appVersion %s: both have to be %s", m.Version,
			m.AppVersion, s.Number())
	}
	notes, err := os.ReadFile(filepath.Join(folder, "CHANGELOG.md"))
	if err != nil {
		return Chart{}, err
	}
	if chart.Metadata.Annotations, err = hubAnnotations(chart.Metadata.Annotations, string(notes),
		imagesOf(imageName, digest), s); err != nil {
		return Chart{}, err
	}
	chart.StampModTimes(s.Committed)
	path, err := util.Save(chart, scratch)
	if err != nil {
		return Chart{}, err
	}
	archive, err := os.ReadFile(path)
	if err != nil {
		return Chart{}, err
	}
	config, err := json.Marshal(chart.Metadata)
	if err != nil {
		return Chart{}, err
	}
	about := s.annotations(chart.Metadata.Name, chart.Metadata.Description)
	return Chart{Name: chart.Metadata.Name, Version: s.Number(), Archive: archive, config: config, about: about}, nil
}

// setDigest writes the value image.digest and leaves every other byte of the file as it is: its comments are its
// documentation.
func setDigest(path, digest string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	value := find(&document, "image", "digest")
	if value == nil {
		return fmt.Errorf("%s has no value image.digest", filepath.Base(path))
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	line := lines[value.Line-1]
	lines[value.Line-1] = append(append([]byte{}, line[:value.Column-1]...), (digest + "\n")...)
	return os.WriteFile(path, bytes.Join(lines, nil), 0o644)
}

// find returns the value at a path of keys, nil if there is none.
func find(node *yaml.Node, path ...string) *yaml.Node {
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	if len(path) == 0 {
		return node
	}
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if node.Content[i].Value == path[0] {
			return find(node.Content[i+1], path[1:]...)
		}
	}
	return nil
}

// hubAnnotations are what Artifact Hub shows of a chart (artifacthub.io/docs, "Supported annotations").
func hubAnnotations(own map[string]string, changelog, images string, s Source) (map[string]string, error) {
	notes, err := Notes(changelog, s.Version)
	if err != nil {
		return nil, err
	}
	changes, err := yaml.Marshal(changesOf(notes))
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"artifacthub.io/changes":    string(changes),
		"artifacthub.io/license":    license,
		"artifacthub.io/prerelease": fmt.Sprint(strings.Contains(s.Number(), "-")),
		"artifacthub.io/images":     images,
		"artifacthub.io/links":      "- name: documentation\n  url: " + repository + "/tree/main/docs\n",
	}
	maps.Copy(annotations, own)
	return annotations, nil
}

// imagesOf is the list with the image of a chart.
func imagesOf(imageName, digest string) string {
	return "- name: " + imageName + "\n  image: " + Registry + "/" + imageName + "@" + digest + "\n"
}

// change is one line of a changelog as Artifact Hub requires it.
type change struct {
	Kind        string `yaml:"kind"`
	Description string `yaml:"description"`
}

// changesOf reads the list items below headings such as "### Added"; an item may go on in further lines.
func changesOf(notes string) []change {
	var changes []change
	kind := "changed"
	for line := range strings.Lines(notes) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "### "):
			kind = strings.ToLower(strings.TrimPrefix(text, "### "))
		case strings.HasPrefix(line, "- "):
			changes = append(changes, change{kind, strings.TrimPrefix(text, "- ")})
		case text != "" && len(changes) > 0:
			changes[len(changes)-1].Description += " " + text
		}
	}
	return changes
}
