package release

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unpublished is what texts in the repository say of images that no release has. A release has them.
const unpublished = "not published yet"

// writePages changes the Markdown files of a chart to what its user has: the chart in a registry, at its version, and
// no copy of the repository. Links into the repository become links to it at that version, since pages such as Artifact
// Hub's show a file alone.
func writePages(copied, folder string, s Source) error {
	inside, err := filepath.Rel(s.Root, folder)
	if err != nil {
		return err
	}
	inside = filepath.ToSlash(inside)
	files, err := filepath.Glob(filepath.Join(copied, "*.md"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := pageOf(string(content), inside, s)
		if strings.Contains(text, "helm install") && strings.Contains(text, " "+inside+" ") {
			return fmt.Errorf("%s installs the chart from %s, which its user does not have", filepath.Base(file),
				inside)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pageOf is a page of the folder as the user of a release reads it.
func pageOf(text, folder string, s Source) string {
	var kept []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.Contains(paragraph, unpublished) {
			kept = append(kept, paragraph)
		}
	}
	text = strings.Join(kept, "\n\n")
	published := fmt.Sprintf(" oci://%s/%s --version %s ", Registry, folder, s.Number())
	text = strings.ReplaceAll(text, " "+folder+" ", published)
	return absolute(text, folder, s.Version)
}
