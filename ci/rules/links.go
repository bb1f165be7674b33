package rules

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// site is where others read the files of this repository.
const site = "https://github.com/thalassa-cloud/thalassa-ccm/"

// Links finds links in Markdown pages, and addresses of this repository's files on its site in all files, to files or
// headings that do not exist.
func Links(t *Tree) []string {
	var out []string
	inPage := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)`)
	onSite := regexp.MustCompile(regexp.QuoteMeta(site) + `(?:blob|tree|raw)/main/([\w./-]*)(?:#([\w-]+))?`)
	for p, text := range t.texts() {
		for i, line := range strings.Split(text, "\n") {
			for _, m := range inPage.FindAllStringSubmatch(line, -1) {
				if path.Ext(p) == ".md" && !t.resolves(p, m[1], m[2]) {
					out = append(out, found(p, i+1, "the link to %s leads nowhere", named(m)))
				}
			}
			for _, m := range onSite.FindAllStringSubmatch(line, -1) {
				if !t.exists(strings.TrimRight(m[1], "."), m[2]) {
					out = append(out, found(p, i+1, "the address of %s leads nowhere", named(m)))
				}
			}
		}
	}
	return out
}

// named is a target with its fragment.
func named(match []string) string { return strings.TrimSuffix(match[1]+"#"+match[2], "#") }

// resolves reports whether a link of a page leads to a file or folder of the tree; other sites are not asked.
func (t *Tree) resolves(page, target, fragment string) bool {
	switch {
	case strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:"):
		return true
	case target == "":
		return t.exists(page, fragment)
	}
	return t.exists(path.Join(path.Dir(page), target), fragment)
}

// exists reports whether a file or folder exists and, if it is a page, has a heading with the fragment.
func (t *Tree) exists(name, fragment string) bool {
	name = path.Clean(name)
	text, isFile := t.files[name]
	if fragment == "" || path.Ext(name) != ".md" {
		return isFile || t.folders[name]
	}
	return anchors(string(text))[fragment]
}

// anchors are the fragments of a page's headings, as GitHub makes them, and of the elements that have an id.
func anchors(text string) map[string]bool {
	all, times := map[string]bool{}, map[string]int{}
	fenced, fence := false, regexp.MustCompile("^(?: |[0-9]+\\. |[-*] )*```")
	id, heading := regexp.MustCompile(`<\w+ (?:id|name)="([^"]+)"`), regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	for line := range strings.SplitSeq(text, "\n") {
		if fence.MatchString(line) {
			fenced = !fenced
		}
		for _, match := range id.FindAllStringSubmatch(line, -1) {
			all[match[1]] = true
		}
		match := heading.FindStringSubmatch(line)
		if fenced || match == nil {
			continue
		}
		anchor := anchor(match[1])
		if times[anchor]++; times[anchor] > 1 {
			anchor = fmt.Sprintf("%s-%d", anchor, times[anchor]-1)
		}
		all[anchor] = true
	}
	return all
}

// anchor is the fragment of a heading: its text in lower case, without punctuation, with hyphens for blanks.
func anchor(heading string) string {
	text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
