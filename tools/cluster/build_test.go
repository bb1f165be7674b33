//go:build linux

package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestArchiveProgram makes an image again only for another program, or another name.
func TestArchiveProgram(t *testing.T) {
	folder := t.TempDir()
	executable, target := filepath.Join(folder, "csi-attacher"), filepath.Join(folder, "image")
	made := func(content, reference string) string {
		t.Helper()
		if err := os.WriteFile(executable, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := archiveProgram(executable, target, reference); err != nil {
			t.Fatal(err)
		}
		image, err := tarball.ImageFromPath(target+".tar", nil)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(target + ".tar")
		if err != nil {
			t.Fatal(err)
		}
		return digest.String() + info.ModTime().String()
	}
	first := made("one", "registry.example/attacher:v1")
	if again := made("one", "registry.example/attacher:v1"); again != first {
		t.Error("the image of a program that has not changed was made again")
	}
	second := made("two", "registry.example/attacher:v1")
	if second == first {
		t.Error("the image of a program that has changed was not made again")
	}
	if third := made("two", "registry.example/attacher:v2"); third == second {
		t.Error("an image was not made again under its new name")
	}
}
