package image

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestArchive makes an image for this machine alone, of a program that has a command by default.
func TestArchive(t *testing.T) {
	folder := t.TempDir()
	executable, path := filepath.Join(folder, "program"), filepath.Join(folder, "image.tar")
	if err := os.WriteFile(executable, []byte("#!"), 0o600); err != nil {
		t.Fatal(err)
	}
	const reference = "lab.local/guest:1"
	if err := Archive(path, reference, Program{Name: "guest", Arguments: []string{"pause"}}, Stamp{Version: "devel"},
		executable); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != runtime.GOARCH || config.OS != "linux" {
		t.Errorf("it is for %s/%s", config.OS, config.Architecture)
	}
	if entry, args := config.Config.Entrypoint, config.Config.Cmd; !slices.Equal(entry, []string{"/guest"}) ||
		!slices.Equal(args, []string{"pause"}) {
		t.Errorf("it starts %v with %v, want /guest with pause", entry, args)
	}
	if err := Archive(path, reference, Program{Name: "guest"}, Stamp{}, filepath.Join(folder, "none")); err == nil {
		t.Error("an image was made of a program that is not there")
	}
}
