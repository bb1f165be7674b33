package debian

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadInstalled reads the descriptions that Files wrote.
func TestReadInstalled(t *testing.T) {
	s := newServer(t)
	packages := []Package{base(t, s), tools(t, s)}
	files, err := s.files(t.Context(), packages, "amd64", []string{"/sbin/tool"})
	if err != nil {
		t.Fatal(err)
	}
	texts, headers := map[string]string{}, []tar.Header{}
	for _, file := range files {
		if file.Mode.IsRegular() {
			name := strings.TrimPrefix(file.Path, "/")
			texts[name] = file.Content
			headers = append(headers, tar.Header{Name: name, Mode: 0o644})
		}
	}
	got, err := ReadInstalled(tar.NewReader(bytes.NewReader(archived(t, texts, headers...))))
	if err != nil {
		t.Fatal(err)
	}
	want := []Installed{
		{"base-files", "13", "source-of-base-files", "amd64", packages[0].SHA256},
		{"tools", "2+b1", "source-of-tools", "amd64", packages[1].SHA256},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestReadInstalledRefuses(t *testing.T) {
	damaged := archived(t, map[string]string{"var/lib/dpkg/status.d/x": "no field"},
		tar.Header{Name: "var/lib/dpkg/status.d/x", Mode: 0o644})
	for name, tt := range map[string]struct {
		archive []byte
		want    string
	}{
		"not a description": {damaged, "var/lib/dpkg/status.d/x"},
		"not an archive":    {bytes.Repeat([]byte("x"), 1024), "tar"},
	} {
		if _, err := ReadInstalled(tar.NewReader(bytes.NewReader(tt.archive))); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
	}
}

func TestPURL(t *testing.T) {
	for want, p := range map[string]Installed{
		"pkg:deb/debian/mount@2.41-5?arch=amd64&distro=trixie": {
			Name: "mount", Version: "2.41-5", Architecture: "amd64"},
		"pkg:deb/debian/libss2@1%3A1.47.2-3%2Bb12?arch=arm64&distro=trixie&upstream=e2fsprogs%401.47.2-3": {
			Name: "libss2", Version: "1:1.47.2-3+b12", Architecture: "arm64", Source: "e2fsprogs (1.47.2-3)"},
	} {
		if got := p.PURL(); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
}
