package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"pault.ag/go/debian/deb"
)

// File is one file of an image, or a symbolic link; root owns it.
type File struct {
	Path    string // absolute
	Mode    fs.FileMode
	Content string // of a symbolic link: what it points to
	owner   string // package
}

// status is the folder with the description of each package, where scanners look for the packages of an image that has
// no package manager.
const status = "/var/lib/dpkg/status.d/"

// tree is all files of packages, by path.
type tree map[string]File

// unpack downloads packages and returns their files.
func (a Archive) unpack(ctx context.Context, packages []Package) (tree, error) {
	t := tree{}
	for _, p := range packages {
		content, err := a.fetch(ctx, p)
		if err != nil {
			return nil, err
		}
		if err := t.unpack(p, content); err != nil {
			return nil, fmt.Errorf("unpacking the Debian package %s: %w", p, err)
		}
	}
	return t, nil
}

// unpack adds the files of a package.
func (t tree) unpack(p Package, content []byte) error {
	unpacked, err := deb.Load(bytes.NewReader(content), p.File)
	if err != nil {
		return err
	}
	defer func() { _ = unpacked.Close() }() // it was only read
	for {
		header, err := unpacked.Data.Next()
		if errors.Is(err, io.EOF) {
			return t.describe(p, unpacked)
		}
		if err != nil {
			return err
		}
		if err := t.add(p, header, unpacked.Data); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// add adds one entry of a package's archive. Folders are made from the paths of files.
func (t tree) add(p Package, header *tar.Header, content io.Reader) error {
	file := File{Path: path.Join("/", header.Name), owner: p.Name}
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink:
		file.Mode, file.Content = fs.ModeSymlink|0o777, header.Linkname
	case tar.TypeLink:
		file.Mode, file.Content = fs.ModeSymlink|0o777, path.Join("/", header.Linkname)
	case tar.TypeReg:
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		// Programs get no rights by being set-user-ID: whoever runs them has the rights already.
		file.Mode, file.Content = fs.FileMode(header.Mode).Perm()&0o755, string(text)
	default:
		return fmt.Errorf("files of type %q are not known", header.Typeflag)
	}
	t[file.Path] = file
	return nil
}

// describe adds the description of a package.
func (t tree) describe(p Package, unpacked *deb.Deb) error {
	if got := unpacked.Control.Values["Version"]; unpacked.Control.Package != p.Name || got != p.Version {
		return fmt.Errorf("it is %s %s", unpacked.Control.Package, got)
	}
	var text strings.Builder
	if err := unpacked.Control.WriteTo(&text); err != nil {
		return err
	}
	fmt.Fprintf(&text, "SHA256: %s\n", p.SHA256)
	t[status+p.Name] = File{Path: status + p.Name, Mode: 0o644, Content: text.String(), owner: p.Name}
	return nil
}
