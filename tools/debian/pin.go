package debian

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pault.ag/go/debian/control"
	"pault.ag/go/debian/deb"
	"pault.ag/go/debian/version"
)

// lists are the lists of packages of an architecture. Of one version that several have, the first one is taken.
func lists(architecture string) []string {
	return []string{
		"debian/dists/" + suite + "/main/binary-" + architecture,
		"debian/dists/" + suite + "-updates/main/binary-" + architecture,
		"debian-security/dists/" + suite + "-security/main/binary-" + architecture,
	}
}

// Pin returns the newest version of each named package for each architecture. It downloads them all. The digests are
// those of the mirror's lists, whose signatures it does not check, so use a mirror with TLS.
func (a Archive) Pin(ctx context.Context, architectures, names []string) (Lock, error) {
	lock := Lock{}
	for _, architecture := range architectures {
		pinned, err := a.pin(ctx, architecture, names)
		if err != nil {
			return nil, fmt.Errorf("pinning packages of Debian %s for %s: %w", suite, architecture, err)
		}
		lock[architecture] = pinned
	}
	return lock, nil
}

func (a Archive) pin(ctx context.Context, architecture string, names []string) ([]Package, error) {
	newest := map[string]Package{}
	for _, list := range lists(architecture) {
		if err := a.read(ctx, list, names, newest); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", a.Mirror, list, err)
		}
	}
	var pinned []Package
	for _, name := range slices.Sorted(slices.Values(names)) {
		p, found := newest[name]
		if !found {
			return nil, fmt.Errorf("there is no package %s", name)
		}
		content, err := a.fetch(ctx, p)
		if err != nil {
			return nil, err
		}
		sum := sha1.Sum(content)
		p.SHA1 = hex.EncodeToString(sum[:])
		pinned = append(pinned, p)
	}
	return pinned, nil
}

// read adds the named packages of a list to newest, unless a version there is as new.
func (a Archive) read(ctx context.Context, list string, names []string, newest map[string]Package) error {
	packed, err := get(ctx, a.Mirror+"/"+list+"/Packages.xz")
	if err != nil {
		return err
	}
	content, err := deb.DecompressorFor(".xz")(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	defer content.Close()
	paragraphs, err := control.NewParagraphReader(content, nil)
	if err != nil {
		return err
	}
	archive, _, _ := strings.Cut(list, "/")
	for {
		paragraph, err := paragraphs.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		values := paragraph.Values
		p := Package{Name: values["Package"], Version: values["Version"], File: archive + "/" + values["Filename"],
			SHA256: values["SHA256"]}
		if !slices.Contains(names, p.Name) {
			continue
		}
		newer, err := p.newer(newest[p.Name])
		if err != nil {
			return err
		}
		if newer {
			newest[p.Name] = p
		}
	}
}

// newer reports whether p is newer than another version, or there is none.
func (p Package) newer(than Package) (bool, error) {
	if than.Version == "" {
		return true, nil
	}
	mine, err := version.Parse(p.Version)
	if err != nil {
		return false, fmt.Errorf("reading the version of %s: %w", p, err)
	}
	other, err := version.Parse(than.Version)
	if err != nil {
		return false, fmt.Errorf("reading the version of %s: %w", than, err)
	}
	return version.Compare(mine, other) > 0, nil
}
