package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/provenance"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sbom"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

// Names below the folder of a release.
const (
	storeFolder   = "oci"
	notesFile     = "notes.md"
	imagesFile    = "images.txt"
	checksumsFile = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
	publicKeyFile = "cosign.pub" // also in the repository, where users trust it
)

// Types of attached documents.
const (
	sbomType       = "application/spdx+json"
	provenanceType = "application/vnd.in-toto+json"
)

// Make makes the release of a source in folder, which must not exist: it is there when the release is complete. It
// prints what it does. With a key everything is signed, and it has to be the one whose public half is in the sources;
// without one it is a dry run, whose result cannot be published.
func Make(ctx context.Context, s Source, folder string, key *signature.Key, progress io.Writer) error {
	return makeWith(ctx, builder{image: image.Build, program: image.Compile}, s, folder, key, progress)
}

func makeWith(ctx context.Context, build builder, s Source, folder string, key *signature.Key,
	progress io.Writer) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("releasing %s: %w", s.Version, err)
	}
	m := &maker{Source: s, progress: progress, build: build, assembly: assembly{
		key: key, list: List{Version: s.Version, Revision: s.Revision},
	}}
	err := whole(folder, "make", func(unfinished string) error {
		m.folder = unfinished
		return m.make(ctx)
	})
	if err != nil {
		return fmt.Errorf("releasing %s: %w", s.Version, err)
	}
	if key == nil {
		m.say("nothing is signed: there was no key")
	}
	return nil
}

// whole makes (or saves, as verb says) the folder of a release, which must not exist: it is there when fill has filled
// it without an error.
func whole(folder, verb string, fill func(unfinished string) error) error {
	if _, err := os.Stat(folder); err == nil {
		return fmt.Errorf("%s is there already; remove it to %s the release again", folder, verb)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(folder), ".unfinished-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	unfinished := filepath.Join(scratch, filepath.Base(folder))
	if err := fill(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, folder)
}

// maker makes one release.
type maker struct {
	Source
	assembly
	folder string
	// sidecars are the images of others that the charts run, one on a line.
	sidecars string
	progress io.Writer
	build    builder
	// goVersion is that of the compiler that made the programs, which need not be the one that made this.
	goVersion string
}

// builder builds what contains programs: image.Build and image.Compile.
type builder struct {
	image   func(ctx context.Context, root string, p image.Program, s image.Stamp) (v1.ImageIndex, error)
	program func(ctx context.Context, root string, p image.Program, on v1.Platform, s image.Stamp, target string) error
}

func (m *maker) say(format string, values ...any) {
	_, _ = fmt.Fprintf(m.progress, format+"\n", values...)
}

func (m *maker) make(ctx context.Context) error {
	notes, err := m.notes()
	if err != nil {
		return err
	}
	if err := m.checkKey(); err != nil {
		return err
	}
	if m.store, err = artifact.Create(filepath.Join(m.folder, storeFolder)); err != nil {
		return err
	}
	if err := m.images(ctx); err != nil {
		return err
	}
	if err := m.charts(); err != nil {
		return err
	}
	if err := m.bundle(); err != nil {
		return err
	}
	if err := m.plugin(ctx); err != nil {
		return err
	}
	if err := m.publishList(m.Source); err != nil {
		return err
	}
	images := m.list.Images(Registry) + m.sidecars
	for name, content := range map[string]string{notesFile: notes, imagesFile: images} {
		if err := m.write(name, []byte(content)); err != nil {
			return err
		}
	}
	return m.sums()
}

func (m *maker) notes() (string, error) {
	changelog, err := os.ReadFile(filepath.Join(m.Root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	notes, err := Notes(string(changelog), m.Version)
	return absolute(notes, "", m.Version), err
}

// images builds all images with what they are made of and how.
func (m *maker) images(ctx context.Context) error {
	for _, program := range image.Programs() {
		m.say("building the image of %s", program.Name)
		index, err := m.build.image(ctx, m.Root, program, m.stamp())
		if err != nil {
			return err
		}
		item, err := m.add(KindImage, program.Repository, m.Number(), index)
		if err != nil {
			return err
		}
		if err := m.describe(program, item, index); err != nil {
			return err
		}
	}
	return nil
}

// describe attaches the SBOM of each platform's program to its image, and the provenance to the index.
func (m *maker) describe(program image.Program, item Item, index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		one, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		if err := m.sbom(program, one, descriptor); err != nil {
			return err
		}
	}
	return m.prove(item, index)
}

func (m *maker) sbom(program image.Program, one v1.Image, descriptor v1.Descriptor) error {
	executable, err := image.Extract(one, "/"+program.Name)
	if err != nil {
		return err
	}
	packages, err := image.Packages(one)
	if err != nil {
		return err
	}
	document, err := m.contents(program.Name, program.Name+"-"+descriptor.Platform.Architecture,
		bytes.NewReader(executable), packages...)
	if err != nil {
		return err
	}
	return m.attach(KindSBOM, program.Repository, descriptor, sbomType, document)
}

// contents returns the SBOM of an executable, and of the packages beside it. It also writes it to a file.
func (m *maker) contents(name, file string, executable io.ReaderAt, packages ...debian.Installed) ([]byte, error) {
	info, err := buildinfo.Read(executable)
	if err != nil {
		return nil, fmt.Errorf("reading how %s was built: %w", file, err)
	}
	m.goVersion = info.GoVersion
	document, err := sbom.Of(info, sbom.Subject{Name: name, Version: m.Number(), At: m.Committed, License: license},
		packages...)
	if err != nil {
		return nil, err
	}
	return document, m.write(file+".spdx.json", document)
}

// provenance is the statement about one artifact.
func (m *maker) provenance(item Item) ([]byte, error) {
	materials, err := m.materials()
	if err != nil {
		return nil, err
	}
	return provenance.Statement([]provenance.Subject{{Name: Registry + "/" + item.Repository,
		SHA256: strings.TrimPrefix(item.Digest, "sha256:")}}, provenance.Build{
		Version: m.Version, Revision: m.Revision, Committed: m.Committed, Command: "make release VERSION=" + m.Version,
		GoVersion: m.goVersion, Materials: materials,
	})
}

// materials are the files that say what is downloaded for a build.
func (m *maker) materials() ([]provenance.Subject, error) {
	var materials []provenance.Subject
	for _, name := range []string{"src/go.mod", "src/go.sum", "src/emulator/go.mod", "src/emulator/go.sum",
		debian.LockFile} {
		content, err := os.ReadFile(filepath.Join(m.Root, name))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		materials = append(materials, provenance.Subject{Name: name, SHA256: hex.EncodeToString(sum[:])})
	}
	return materials, nil
}

// charts packs the chart of each program that has one, with the digest of the program's image.
func (m *maker) charts() error {
	for _, program := range charted() {
		m.say("packing the chart %s", program.Chart)
		item, _ := m.list.image(program.Repository)
		folder := filepath.Join(m.Root, "charts", program.Chart)
		chart, err := PackChart(folder, program.Repository, item.Digest, m.Source)
		if err != nil {
			return err
		}
		for _, image := range chart.Sidecars {
			m.sidecars += image + "\n"
		}
		if err := m.write(chart.File(), chart.Archive); err != nil {
			return err
		}
		if err := m.packed(KindChart, "charts/"+chart.Name, chart.Version, chart.Artifact()); err != nil {
			return err
		}
	}
	return nil
}

// charted are the programs that have a chart.
func charted() []image.Program {
	return slices.DeleteFunc(image.Programs(), func(p image.Program) bool { return p.Chart == "" })
}

func (m *maker) bundle() error {
	m.say("packing the Kustomize bundle")
	digests := map[string]string{}
	for _, program := range charted() {
		item, _ := m.list.image(program.Repository)
		digests[Registry+"/"+program.Repository] = item.Digest
	}
	bundle, err := PackBundle(filepath.Join(m.Root, "kustomize"), digests, m.Source)
	if err != nil {
		return err
	}
	if err := m.write("thalassa-ccm-kustomize-"+m.Number()+".tar.gz", bundle.Archive); err != nil {
		return err
	}
	return m.packed(KindBundle, "kustomize", m.Number(), bundle.Artifact())
}

// packed stores a chart, a bundle or the plug-in, with its SBOMs and its provenance.
func (m *maker) packed(kind Kind, repository, tag string, manifest artifact.Manifest, sboms ...[]byte) error {
	content, err := manifest.Image()
	if err != nil {
		return err
	}
	item, err := m.add(kind, repository, tag, content)
	if err != nil {
		return err
	}
	return m.prove(item, content, sboms...)
}

// prove attaches the SBOMs and the provenance of an artifact to it.
func (m *maker) prove(item Item, content partial.Describable, sboms ...[]byte) error {
	document, err := m.provenance(item)
	if err != nil {
		return err
	}
	subject, err := partial.Descriptor(content)
	if err != nil {
		return err
	}
	for _, sbom := range sboms {
		if err := m.attach(KindSBOM, item.Repository, *subject, sbomType, sbom); err != nil {
			return err
		}
	}
	return m.attach(KindProvenance, item.Repository, *subject, provenanceType, document)
}

func (m *maker) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(m.folder, name), content, 0o644)
}
