package debian

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// base is what every set of packages contains.
func base(t *testing.T, s *server) Package {
	t.Helper()
	return s.publish(t, "base-files", "13",
		tar.Header{Name: "./usr/", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "./bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		tar.Header{Name: "./sbin", Typeflag: tar.TypeSymlink, Linkname: "usr/sbin"},
		tar.Header{Name: "./etc/os-release", Typeflag: tar.TypeSymlink, Linkname: "../usr/lib/os-release"},
		tar.Header{Name: "./usr/lib/os-release", Mode: 0o644},
		tar.Header{Name: "./usr/share/common-licenses/GPL-2", Mode: 0o644},
		tar.Header{Name: "./usr/share/doc/base-files/copyright", Mode: 0o644},
		tar.Header{Name: "./usr/share/doc/base-files/README", Mode: 0o644},
		tar.Header{Name: "./usr/bin/unwanted", Mode: 0o755},
		tar.Header{Name: "./usr/sbin/unwanted", Mode: 0o755},
	)
}

// tools is a package with a program that has two names.
func tools(t *testing.T, s *server) Package {
	t.Helper()
	return s.publish(t, "tools", "2+b1",
		tar.Header{Name: "./usr/sbin/tool", Mode: 0o4755},
		tar.Header{Name: "./usr/sbin/hard", Typeflag: tar.TypeLink, Linkname: "./usr/sbin/tool"},
		tar.Header{Name: "./usr/sbin/tool.x", Typeflag: tar.TypeSymlink, Linkname: "/sbin/tool"},
		tar.Header{Name: "./usr/share/doc/tools", Typeflag: tar.TypeSymlink, Linkname: "base-files"},
	)
}

func TestFiles(t *testing.T) {
	s := newServer(t)
	files, err := s.files(t.Context(), []Package{base(t, s), tools(t, s)}, "amd64",
		[]string{"/sbin/tool.x", "/usr/sbin/hard"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		content, _, _ := strings.Cut(file.Content, "\n")
		got = append(got, fmt.Sprintf("%s %s %s", file.Path, file.Mode, content))
	}
	want := []string{
		"/bin Lrwxrwxrwx usr/bin",
		"/etc/os-release Lrwxrwxrwx ../usr/lib/os-release",
		"/sbin Lrwxrwxrwx usr/sbin",
		"/usr/lib/os-release -rw-r--r-- ./usr/lib/os-release",
		"/usr/sbin/hard Lrwxrwxrwx /usr/sbin/tool",
		"/usr/sbin/tool -rwxr-xr-x ./usr/sbin/tool",
		"/usr/sbin/tool.x Lrwxrwxrwx /sbin/tool",
		"/usr/share/common-licenses/GPL-2 -rw-r--r-- ./usr/share/common-licenses/GPL-2",
		"/usr/share/doc/base-files/copyright -rw-r--r-- ./usr/share/doc/base-files/copyright",
		"/usr/share/doc/tools Lrwxrwxrwx base-files",
		"/var/lib/dpkg/status.d/base-files -rw-r--r-- Package: base-files",
		"/var/lib/dpkg/status.d/tools -rw-r--r-- Package: tools",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFilesRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted []string
		change func(*testing.T, *server, []Package)
		want   string
	}{
		"a missing file":  {[]string{"/sbin/tool", "/usr/sbin/other"}, nil, "/usr/sbin/other is in no pinned package"},
		"nothing of it":   {nil, nil, "no file of the package tools is needed, so do not pin it"},
		"wrong name":      {nil, func(_ *testing.T, _ *server, p []Package) { p[1].Name = "x" }, "tools 2+b1"},
		"wrong version":   {nil, func(_ *testing.T, _ *server, p []Package) { p[1].Version = "3" }, "it is tools 2+b1"},
		"not downloaded":  {nil, func(_ *testing.T, _ *server, p []Package) { p[1].SHA256 = "x" }, "downloading"},
		"a pipe":          {nil, pipe, "files of type '6' are not known"},
		"not a package":   {nil, noPackage, "unpacking the Debian package tools"},
		"no such license": {[]string{"/sbin/tool"}, unlicensed, "doc/tools/copyright is in no pinned package"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			packages := []Package{base(t, s), tools(t, s)}
			if tt.change != nil {
				tt.change(t, s, packages)
			}
			_, err := s.files(t.Context(), packages, "amd64", tt.wanted)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func pipe(t *testing.T, s *server, p []Package) {
	t.Helper()
	p[1] = s.publish(t, "tools", "2+b1", tar.Header{Name: "./usr/sbin/pipe", Typeflag: tar.TypeFifo})
}

func unlicensed(t *testing.T, s *server, p []Package) {
	t.Helper()
	p[1] = s.publish(t, "tools", "2+b1", tar.Header{Name: "./usr/sbin/tool", Mode: 0o755})
}

func noPackage(t *testing.T, s *server, p []Package) {
	t.Helper()
	content := []byte("no package")
	sum := sha256.Sum256(content)
	s.content["/mirror/"+p[1].File], p[1].SHA256 = content, hex.EncodeToString(sum[:])
}
