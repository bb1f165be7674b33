package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
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
	// Sidecars are the images of others that the chart runs, by its values.
	Sidecars []string
	config   []byte // what a registry keeps as the artifact's configuration: Chart.yaml as JSON
	about    map[string]string
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
	sidecars, err := setImages(filepath.Join(copied, "values.yaml"), digest)
	if err != nil {
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
		imagesOf(append([]string{Registry + "/" + imageName + "@" + digest}, sidecars...)), s); err != nil {
		return Chart{}, err
	}
	chart.StampModTimes(s.Committed)
	saved, err := util.Save(chart, scratch)
	if err != nil {
		return Chart{}, err
	}
	archive, err := os.ReadFile(saved)
	if err != nil {
		return Chart{}, err
	}
	config, err := json.Marshal(chart.Metadata)
	if err != nil {
		return Chart{}, err
	}
	about := s.annotations(chart.Metadata.Name, chart.Metadata.Description)
	return Chart{Name: chart.Metadata.Name, Version: s.Number(), Archive: archive, Sidecars: sidecars,
		config: config, about: about}, nil
}

// setImages writes the value image.digest and leaves every other byte of the file as it is: its comments are its
// documentation. It returns the images below the value sidecars.
func setImages(file, digest string) (sidecars []string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	value := find(&document, "image", "digest")
	if value == nil {
		return nil, fmt.Errorf("%s has no value image.digest", filepath.Base(file))
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	line := lines[value.Line-1]
	lines[value.Line-1] = append(append([]byte{}, line[:value.Column-1]...), (digest + "\n")...)
	if sidecars, err = sidecarImages(&document); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	return sidecars, os.WriteFile(file, bytes.Join(lines, nil), 0o644)
}

// sidecarImages returns the images of the programs that values have below sidecars, in their order.
func sidecarImages(values *yaml.Node) (images []string, err error) {
	sidecars := find(values, "sidecars")
	if sidecars == nil {
		return nil, nil
	}
	for i := 1; i < len(sidecars.Content); i += 2 {
		value := find(sidecars.Content[i], "image")
		if value == nil {
			continue // a setting of all sidecars
		}
		var image struct{ Registry, Repository, Tag, Digest string }
		if err := value.Decode(&image); err != nil {
			return nil, fmt.Errorf("reading the image of sidecars.%s: %w", sidecars.Content[i-1].Value, err)
		}
		reference := image.Registry + "/" + image.Repository + ":" + image.Tag
		if image.Digest != "" {
			reference += "@" + image.Digest
		}
		images = append(images, reference)
	}
	return images, nil
}

// find returns the value at a path of keys, nil if there is none.
func find(node *yaml.Node, keys ...string) *yaml.Node {
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	if len(keys) == 0 {
		return node
	}
	for i := 0; i+1 < len(node.Content) && node.Kind == yaml.MappingNode; i += 2 {
		if node.Content[i].Value == keys[0] {
			return find(node.Content[i+1], keys[1:]...)
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

// imagesOf is the list of the images of a chart, each with the last part of its name.
func imagesOf(references []string) string {
	var list strings.Builder
	for _, reference := range references {
		name, _, _ := strings.Cut(path.Base(reference), "@")
		name, _, _ = strings.Cut(name, ":")
		fmt.Fprintf(&list, "- name: %s\n  image: %s\n", name, reference)
	}
	return list.String()
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
