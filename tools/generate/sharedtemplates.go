package generate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// sharedTemplates makes the templates that both charts have from those of thalassa-ccm. A library chart would have to
// be fetched before `helm install` of a folder.
func sharedTemplates() Generator {
	return Generator{Name: "shared templates", Files: func(_ context.Context, root string) (map[string][]byte, error) {
		from := path.Join(chartFolder("thalassa-ccm"), "templates")
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(from), "_*_shared.tpl"))
		if err != nil {
			return nil, fmt.Errorf("listing the shared templates: %w", err)
		}
		made := map[string][]byte{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading a shared template: %w", err)
			}
			name := path.Join(chartFolder("thalassa-csi"), "templates", filepath.Base(file))
			made[name] = sharedTemplate(from, text)
		}
		return made, nil
	}}
}

// sharedTemplate is a template of thalassa-ccm with the names of thalassa-csi. All charts of a release have one set of
// names of templates.
func sharedTemplate(from string, text []byte) []byte {
	names := strings.NewReplacer(`"thalassa-ccm.`, `"thalassa-csi.`, "/etc/thalassa-ccm/", "/etc/thalassa-csi/",
		"=thalassa-ccm", "=thalassa-csi")
	var made bytes.Buffer
	fmt.Fprintf(&made, "{{/* Made by \"make generate\" from %s; do not edit. */}}\n", from)
	made.WriteString(names.Replace(string(text)))
	return made.Bytes()
}
