package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is one file of a layer; root owns it.
type File struct {
	Path string      // absolute, inside the image
	Mode fs.FileMode // permissions, and whether it is a symbolic link
	// Source is a file to read, Content what is in it when there is none.
	// The Content of a symbolic link is what it points to.
	Source  string
	Content string
}

// NewLayer packs files, with the folders they need, so that the same files always make the same layer: sorted, owned by
// root, and all of one age.
func NewLayer(files []File, at time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	if err := Pack(&archive, files, at); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching,
		// the library's own default makes a sixth more to download
		tarball.WithCompressionLevel(gzip.DefaultCompression))
}

// Pack writes a tar archive of files, as NewLayer does.
func Pack(to io.Writer, files []File, at time.Time) error {
	w := tar.NewWriter(to)
	for _, entry := range entriesOf(files) {
		if err := entry.write(w, at); err != nil {
			return fmt.Errorf("packing %s: %w", entry.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("finishing an archive: %w", err)
	}
	return nil
}

// Files are all files below a folder, with the same paths below the root of an archive.
func Files(folder string) (files []File, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, File{Path: "/" + name, Mode: 0o644, Source: filepath.Join(folder, name)})
		}
		return err
	})
	return files, err
}

// entriesOf adds the folders above the files, and sorts.
func entriesOf(files []File) []File {
	entries := map[string]File{}
	for _, file := range files {
		entries[file.Path] = file
		for folder := path.Dir(file.Path); folder != "/"; folder = path.Dir(folder) {
			entries[folder] = File{Path: folder, Mode: fs.ModeDir | 0o755}
		}
	}
	return slices.SortedFunc(maps.Values(entries), func(x, y File) int { return strings.Compare(x.Path, y.Path) })
}

func (f File) write(w *tar.Writer, at time.Time) error {
	header := &tar.Header{
		Name: strings.TrimPrefix(f.Path, "/"), Mode: int64(f.Mode.Perm()), ModTime: at, Typeflag: tar.TypeReg,
		Format: tar.FormatPAX,
	}
	if f.Mode.IsDir() {
		header.Name, header.Typeflag = header.Name+"/", tar.TypeDir
		return w.WriteHeader(header)
	}
	if f.Mode&fs.ModeSymlink != 0 {
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.Content
		return w.WriteHeader(header)
	}
	content := []byte(f.Content)
	if f.Source != "" {
		var err error
		if content, err = os.ReadFile(f.Source); err != nil {
			return err
		}
	}
	header.Size = int64(len(content))
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
