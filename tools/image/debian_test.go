package image

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLayerOfDebianIsShared: releases have the layer with the programs of Debian in common.
func TestLayerOfDebianIsShared(t *testing.T) {
	executable := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(executable, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	content := Content{Executable: executable, Debian: []File{
		{Path: "/sbin", Mode: fs.ModeSymlink | 0o777, Content: "usr/sbin"},
		{Path: "/usr/sbin/blkid", Mode: 0o755, Content: "blkid"},
	}}
	var first []string
	for _, version := range []string{"v1.2.3", "v1.2.4"} {
		s := stamp
		s.Version, s.Committed = version, s.Committed.AddDate(0, 0, len(first))
		image, err := assemble(Program{Name: "node", Debian: []string{"/sbin/blkid"}}, s, here(), content)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Layers) != 3 {
			t.Fatalf("%d layers, want 3", len(manifest.Layers))
		}
		first = append(first, manifest.Layers[0].Digest.String())
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(config.Config.Env, []string{"PATH=/usr/sbin:/usr/bin"}) {
			t.Errorf("environment %v", config.Config.Env)
		}
		if link := contents(t, image)["sbin"]; link == nil || link.Linkname != "usr/sbin" {
			t.Errorf("/sbin is %+v", link)
		}
	}
	if first[0] != first[1] {
		t.Errorf("layers %v", first)
	}
}
