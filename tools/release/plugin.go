package release

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
)

// pluginType is the type of the artifact with the archives of the plug-in.
const pluginType = "application/vnd.thalassa-cloud.ccm.plugin.v1"

// titled is the annotation with the file name of a blob (OCI image specification, annotations).
const titled = "org.opencontainers.image.title"

// pluginProgram is the plug-in of kubectl alone, which is smaller than the cloud controller manager that contains it,
// and runs on computers that are no nodes.
func pluginProgram() image.Program {
	return image.Program{Name: "kubectl-thalassa", Module: "src", Repository: "kubectl-thalassa",
		Stamped: "github.com/thalassa-cloud/thalassa-ccm/src/build"}
}

// completionScript is what kubectl starts to complete arguments. It is no symbolic link, so that an archive contains
// plain files only.
const completionScript = "#!/bin/sh\nexec kubectl-thalassa __complete \"$@\"\n"

// pluginPlatforms are those that the plug-in is built for.
func pluginPlatforms() []v1.Platform {
	return []v1.Platform{
		{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"},
		{OS: "darwin", Architecture: "amd64"}, {OS: "darwin", Architecture: "arm64"},
		{OS: windows, Architecture: "amd64"},
	}
}

const windows = "windows"

// pluginArchive is the plug-in for one platform.
type pluginArchive struct {
	name, program string // of the file, and of the executable in it
	on            v1.Platform
	content, sbom []byte
}

// plugin writes an archive of the plug-in for each platform.
func (m *maker) plugin(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "plugin-")
	if err != nil {
		return fmt.Errorf("building the plug-in of kubectl: %w", err)
	}
	defer os.RemoveAll(folder)
	var archives []pluginArchive
	for _, platform := range pluginPlatforms() {
		m.say("building the plug-in of kubectl for %s", platform)
		target := filepath.Join(folder, platform.OS+"-"+platform.Architecture)
		if err := m.build.program(ctx, m.Root, pluginProgram(), platform, m.stamp(), target); err != nil {
			return err
		}
		archive, err := m.packPlugin(platform, target)
		if err != nil {
			return fmt.Errorf("packing the plug-in of kubectl for %s: %w", platform, err)
		}
		if archive.sbom, err = m.pluginSBOM(platform, target); err != nil {
			return err
		}
		archives = append(archives, archive)
	}
	return m.addPlugin(archives)
}

// pluginSBOM is the SBOM of an executable. All SBOMs are attached to one artifact, so their names contain the platform.
func (m *maker) pluginSBOM(on v1.Platform, executable string) ([]byte, error) {
	file, err := os.Open(executable)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name := pluginProgram().Name + "-" + on.OS + "-" + on.Architecture
	return m.contents(name, name, file)
}

// addPlugin writes the archives, and stores an artifact with all of them, and with their SBOMs.
func (m *maker) addPlugin(archives []pluginArchive) error {
	content := artifact.Manifest{Type: pluginType,
		Annotations: m.annotations("kubectl-thalassa", "Plug-in of kubectl for thalassa-ccm")}
	var sboms [][]byte
	for _, archive := range archives {
		sboms = append(sboms, archive.sbom)
		mediaType := types.MediaType("application/gzip")
		if archive.on.OS == windows {
			mediaType = "application/zip"
		}
		content.Layers = append(content.Layers, artifact.Blob{Type: mediaType, Content: archive.content,
			Annotations: map[string]string{titled: archive.name}})
		if err := m.write(archive.name, archive.content); err != nil {
			return err
		}
	}
	return m.packed(KindPlugin, pluginProgram().Repository, m.Number(), content, sboms...)
}

// allDescribed fails when not every archive in the artifact of a plug-in has one of the SBOMs that are attached.
func allDescribed(plugin v1.Image, sboms []Item) error {
	contents, err := plugin.Manifest()
	if err != nil {
		return err
	}
	if archives := len(contents.Layers); archives == 0 || len(sboms) != archives {
		return fmt.Errorf("it has %d archives, and the list names %d SBOMs of it", archives, len(sboms))
	}
	return nil
}

// packPlugin packs an executable with the license, and with the completion where scripts run. The same files give the
// same bytes.
func (m *maker) packPlugin(on v1.Platform, executable string) (pluginArchive, error) {
	archive := pluginArchive{program: pluginProgram().Name, on: on}
	archive.name = fmt.Sprintf("%s_%s_%s_%s", archive.program, m.Number(), on.OS, on.Architecture)
	files := []image.File{{Path: "/LICENSE", Mode: 0o644, Source: filepath.Join(m.Root, "LICENSE")}}
	pack := packTar
	if on.OS == windows {
		archive.program += ".exe"
		archive.name += ".zip"
		pack = packZip
	} else {
		archive.name += ".tar.gz"
		files = append(files, image.File{Path: "/kubectl_complete-thalassa", Mode: 0o755, Content: completionScript})
	}
	files = append(files, image.File{Path: "/" + archive.program, Mode: 0o755, Source: executable})
	var content bytes.Buffer
	err := pack(&content, files, m.Committed.UTC())
	archive.content = content.Bytes()
	return archive, err
}

func packTar(to io.Writer, files []image.File, at time.Time) error {
	compressed := gzip.NewWriter(to)
	if err := image.Pack(compressed, files, at); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(to io.Writer, files []image.File, at time.Time) error {
	archive := zip.NewWriter(to)
	for _, file := range files {
		header := &zip.FileHeader{Name: filepath.Base(file.Path), Method: zip.Deflate, Modified: at}
		header.SetMode(file.Mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file.Source)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}
