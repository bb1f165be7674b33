package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// member is a file in an archive.
type member struct {
	name    string
	mode    fs.FileMode
	content string
}

// untar returns the files in an archive, which are neither links nor anything else, and owned by root.
func untar(t *testing.T, archive string, at time.Time) (members []member) {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeReg || !header.ModTime.Equal(at) || header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s has type %q, time %s and owner %d:%d", header.Name, header.Typeflag, header.ModTime,
				header.Uid, header.Gid)
		}
		members = append(members, member{header.Name, header.FileInfo().Mode(), string(content)})
	}
}

// unzip is untar of the other format.
func unzip(t *testing.T, archive string, at time.Time) (members []member) {
	t.Helper()
	reader, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range reader.File {
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		if !file.Modified.Equal(at) {
			t.Errorf("%s has the time %s", file.Name, file.Modified)
		}
		members = append(members, member{file.Name, file.Mode(), string(content)})
	}
	return members
}

// TestPlugin: each platform has an archive with its executable, the license and, where scripts run, the completion.
func TestPlugin(t *testing.T) {
	tier.NeedFull(t)
	s := source(t)
	folder, _ := made(t, s, nil)
	files := content(t, folder)
	for platform, suffix := range map[string]string{"linux/amd64": ".tar.gz", "linux/arm64": ".tar.gz",
		"darwin/amd64": ".tar.gz", "darwin/arm64": ".tar.gz", "windows/amd64": ".zip"} {
		name := "kubectl-thalassa_1.0.0_" + strings.ReplaceAll(platform, "/", "_") + suffix
		if !strings.Contains(files["SHA256SUMS"], "  "+name+"\n") {
			t.Errorf("SHA256SUMS lacks %s:\n%s", name, files["SHA256SUMS"])
		}
		names, executable := []string{"LICENSE 0644", "kubectl-thalassa 0755", "kubectl_complete-thalassa 0755"}, 1
		unpack := untar
		if suffix == ".zip" {
			names, unpack = []string{"LICENSE 0644", "kubectl-thalassa.exe 0755"}, unzip
		}
		members := unpack(t, files[name], s.Committed)
		var got []string
		for _, one := range members {
			got = append(got, fmt.Sprintf("%s %#o", one.name, one.mode))
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
		if !strings.HasSuffix(members[executable].content, "kubectl-thalassa "+platform) {
			t.Errorf("%s does not contain the executable for %s", name, platform)
		}
		contents := "kubectl-thalassa-" + strings.ReplaceAll(platform, "/", "-")
		if !strings.Contains(files[contents+".spdx.json"], `"name": "`+contents+` 1.0.0"`) {
			t.Errorf("the SBOM for %s is\n%s", platform, files[contents+".spdx.json"])
		}
	}
}
