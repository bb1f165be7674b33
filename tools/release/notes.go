package release

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Notes returns the section of a CHANGELOG in the format of Keep a Changelog that is about a version ("v1.2.3"),
// without its heading. It fails when there is none, and when it says nothing.
func Notes(changelog, version string) (string, error) {
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	var notes []string
	found := false
	for line := range strings.Lines(changelog) {
		switch {
		case strings.HasPrefix(line, heading):
			found = true
			continue
		case found && strings.HasPrefix(line, "## "):
			return said(notes, version)
		}
		if found {
			notes = append(notes, line)
		}
	}
	if !found {
		return "",
			fmt.Errorf("reading the release notes of %s: the changelog has no heading %q; turn \"## [Unreleased]\" "+
				"into one", version, heading)
	}
	return said(notes, version)
}

func said(notes []string, version string) (string, error) {
	text := strings.TrimSpace(strings.Join(notes, ""))
	if text == "" {
		return "", fmt.Errorf("reading the release notes of %s: their section in the changelog is empty", version)
	}
	return text + "\n", nil
}

// links matches the targets of links in Markdown, without the parts of a page.
func links() *regexp.Regexp { return regexp.MustCompile(`\]\(([^)#\s]+)`) }

// absolute changes the links of a page in a folder of the repository to links into its sources at a version, because
// the page is read at another place.
func absolute(text, folder, version string) string {
	return links().ReplaceAllStringFunc(text, func(link string) string {
		target := strings.TrimPrefix(link, "](")
		if strings.Contains(target, ":") {
			return link
		}
		return "](" + repository + "/blob/" + version + "/" + path.Join(folder, target)
	})
}
