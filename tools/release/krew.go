package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

const (
	// krewFile is the manifest with which krew installs the plug-in. Its name has to be that of the plug-in.
	krewFile = krewName + ".yaml"
	krewName = "thalassa"
	krewType = "application/yaml"
)

// krewPlugin is a manifest of krew (krew, "Writing Krew plugin manifests").
type krewPlugin struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   krewMetadata `json:"metadata"`
	Spec       krewSpec     `json:"spec"`
}

type krewMetadata struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"` // with "v"
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"` // path of the executable in the archive
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"` // os and arch
}

// download is the address of a file on the release's page.
func (s Source) download(file string) string {
	return repository + "/releases/download/" + s.Version + "/" + file
}

// krewManifest is the manifest for archives that are on the release's page.
func (m *maker) krewManifest(archives []pluginArchive) ([]byte, error) {
	plugin := krewPlugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: krewMetadata{Name: krewName}, Spec: krewSpec{
			Version: m.Version, Homepage: repository + "/blob/" + m.Version + "/docs/guides/kubectl.md",
			ShortDescription: "Look into the cloud controller manager",
			Description: "Shows what the cloud controller manager of a cluster sees in Thalassa Cloud or IronCore,\n" +
				"what it would change, and why something does not work.\n"}}
	for _, archive := range archives {
		sum := sha256.Sum256(archive.content)
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{URI: m.download(archive.name),
			SHA256: hex.EncodeToString(sum[:]), Bin: archive.program, Selector: krewSelector{
				MatchLabels: map[string]string{"os": archive.on.OS, "arch": archive.on.Architecture}}})
	}
	text, err := yaml.Marshal(plugin)
	if err != nil {
		return nil, fmt.Errorf("writing the manifest for krew: %w", err)
	}
	return text, nil
}

// installation is the part of the notes about the plug-in.
func (s Source) installation() string {
	return "### Plug-in of kubectl\n\n```sh\nkubectl krew install --manifest-url=" + s.download(krewFile) + "\n```\n"
}

// installable fails when the manifest in the artifact of a plug-in names other archives than the artifact has, or when
// not every archive has one of the SBOMs that are attached.
func installable(plugin v1.Image, sboms []Item) error {
	contents, err := plugin.Manifest()
	if err != nil {
		return err
	}
	var archives, named []string
	for _, layer := range contents.Layers {
		if layer.MediaType != krewType {
			archives = append(archives, layer.Digest.Hex)
			continue
		}
		manifest, err := readKrew(plugin, layer.Digest)
		if err != nil {
			return fmt.Errorf("reading the manifest for krew: %w", err)
		}
		for _, platform := range manifest.Spec.Platforms {
			named = append(named, platform.SHA256)
		}
	}
	if !slices.Equal(archives, named) || len(named) == 0 {
		return fmt.Errorf("its manifest for krew names the archives %q, and it has %q", named, archives)
	}
	if len(sboms) != len(archives) {
		return fmt.Errorf("it has %d archives, and the list names %d SBOMs of it", len(archives), len(sboms))
	}
	return nil
}

// readKrew reads the manifest in a layer.
func readKrew(plugin v1.Image, digest v1.Hash) (manifest krewPlugin, err error) {
	layer, err := plugin.LayerByDigest(digest)
	if err != nil {
		return manifest, err
	}
	reader, err := layer.Compressed()
	if err != nil {
		return manifest, err
	}
	defer reader.Close()
	text, err := io.ReadAll(reader)
	if err != nil {
		return manifest, err
	}
	return manifest, yaml.UnmarshalStrict(text, &manifest)
}
