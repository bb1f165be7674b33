package debian

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"pault.ag/go/debian/control"
)

// Installed is a package that an image describes.
type Installed struct{ Name, Version, Source, Architecture, SHA256 string }

// ReadInstalled returns the packages that the files of an image describe, in their order.
func ReadInstalled(files *tar.Reader) ([]Installed, error) {
	var all []Installed
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the Debian packages of an image: %w", err)
		}
		if header.Typeflag != tar.TypeReg || !strings.HasPrefix("/"+header.Name, status) {
			continue
		}
		installed, err := describe(files)
		if err != nil {
			return nil, fmt.Errorf("reading the Debian packages of an image: %s: %w", header.Name, err)
		}
		all = append(all, installed)
	}
}

// describe reads one description.
func describe(file io.Reader) (Installed, error) {
	paragraphs, err := control.NewParagraphReader(file, nil)
	if err != nil {
		return Installed{}, err
	}
	paragraph, err := paragraphs.Next()
	if err != nil {
		return Installed{}, err
	}
	values := paragraph.Values
	return Installed{Name: values["Package"], Version: values["Version"], Source: values["Source"],
		Architecture: values["Architecture"], SHA256: values["SHA256"]}, nil
}

// PURL is the package URL. Debian lists vulnerabilities by source package, so that is part of it.
func (p Installed) PURL() string {
	about := url.Values{"arch": {p.Architecture}, "distro": {suite}}
	if p.Source != "" {
		// The source has a version of its own after a rebuild: "e2fsprogs (1.47.2-3)".
		about.Set("upstream", strings.NewReplacer(" (", "@", ")", "").Replace(p.Source))
	}
	return "pkg:deb/debian/" + p.Name + "@" + url.QueryEscape(p.Version) + "?" + about.Encode()
}
