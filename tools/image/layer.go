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
	Mode fs.FileMode // permissions
	// Source is a file to read, Content what is in it when there is none.
	Source  string
	Content string
}

// NewLayer packs files, with the folders they need, so that the same files always make the same layer: sorted, owned by
// root, and all of one age.
func NewLayer(files []File, at time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, entry := range entriesOf(files) {
		if err := entry.write(w, at); err != nil {
			return nil, fmt.Errorf("packing %s: %w", entry.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing a layer: %w", err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching,
		// the library's own default makes a sixth more to download
		tarball.WithCompressionLevel(gzip.DefaultCompression))
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
