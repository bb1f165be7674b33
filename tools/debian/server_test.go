package debian

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/ulikunitz/xz"
)

// server has the files of Debian's servers, by path.
type server struct {
	Archive
	content  map[string][]byte
	requests atomic.Int32
}

// newServer starts a server that is both the mirror and the snapshot.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{content: map[string][]byte{}}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		content, found := s.content[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(listening.Close)
	s.Archive = Archive{Mirror: listening.URL + "/mirror", Snapshot: listening.URL + "/snapshot", Cache: t.TempDir()}
	return s
}

// publish puts a package with these entries on the mirror, and returns its pin.
func (s *server) publish(t *testing.T, name, version string, entries ...tar.Header) Package {
	t.Helper()
	content := packed(t, name, version, entries)
	sum, named := sha256.Sum256(content), sha1.Sum(content)
	p := Package{Name: name, Version: version, File: "debian/pool/" + name + "_" + version + ".deb",
		SHA256: hex.EncodeToString(sum[:]), SHA1: hex.EncodeToString(named[:])}
	s.content["/mirror/"+p.File] = content
	return p
}

// list publishes a list of packages.
func (s *server) list(t *testing.T, where string, packages ...Package) {
	t.Helper()
	var content bytes.Buffer
	w, err := xz.NewWriter(&content)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		_, _ = fmt.Fprintf(w, "Package: %s\nVersion: %s\nDescription: x\n y\nFilename: %s\nSHA256: %s\n\n", p.Name,
			p.Version, p.File[len("debian/"):], p.SHA256)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.content["/mirror/"+where+"/Packages.xz"] = content.Bytes()
}

// packed is a package. The content of a file is its path.
func packed(t *testing.T, name, version string, entries []tar.Header) []byte {
	t.Helper()
	control := fmt.Sprintf("Package: %s\nSource: source-of-%s\nVersion: %s\nArchitecture: amd64\n", name, name, version)
	var content bytes.Buffer
	content.WriteString("!<arch>\n")
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar", archived(t, map[string]string{"control": control}, tar.Header{Name: "control", Mode: 0o644})},
		{"data.tar", archived(t, nil, entries...)},
	} {
		fmt.Fprintf(&content, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.name, 0, 0, 0, 0o644, len(member.content))
		content.Write(member.content)
		if len(member.content)%2 != 0 {
			content.WriteByte('\n')
		}
	}
	return content.Bytes()
}

func archived(t *testing.T, texts map[string]string, entries ...tar.Header) []byte {
	t.Helper()
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, header := range entries {
		text, known := texts[header.Name]
		if !known {
			text = header.Name
		}
		if header.Typeflag == 0 {
			header.Typeflag, header.Size = tar.TypeReg, int64(len(text))
		}
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}
