package repository

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// site is where others read the files of this repository.
const site = "https://github.com/thalassa-cloud/thalassa-ccm/"

// link matches the target of a Markdown link, and its fragment.
func link() *regexp.Regexp { return regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)`) }

// address matches the path of a file of this repository on its site, and its fragment.
func address() *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(site) + `(?:blob|tree|raw)/main/([\w./-]*)(?:#([\w-]+))?`)
}

// Links finds links in Markdown pages, and addresses of this repository's files on its site in all files, to files or
// headings that do not exist. Charts that were released name the files of their time.
func Links(tree fs.FS) ([]Finding, error) {
	var found []Finding
	inPage, onSite := link(), address()
	err := texts(tree, func(p string, text []byte) {
		if strings.HasPrefix(p, "ci/released/") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			var targets [][]string
			if path.Ext(p) == ".md" {
				targets = inPage.FindAllStringSubmatch(line, -1)
			}
			for _, m := range targets {
				if !resolves(tree, p, m[1], m[2]) {
					found = append(found, Finding{p, i + 1, fmt.Sprintf("the link to %s leads nowhere", named(m))})
				}
			}
			for _, m := range onSite.FindAllStringSubmatch(line, -1) {
				m[1] = strings.TrimRight(m[1], ".")
				if !exists(tree, m[1], m[2]) {
					found = append(found, Finding{p, i + 1, fmt.Sprintf("the address of %s leads nowhere", named(m))})
				}
			}
		}
	})
	return sorted(found), err
}

// named is a target with its fragment.
func named(match []string) string {
	if match[2] == "" {
		return match[1]
	}
	return match[1] + "#" + match[2]
}

// resolves reports whether a link of a page leads to a file or folder of the tree; other sites are not asked.
func resolves(tree fs.FS, page, target, fragment string) bool {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return true
	}
	if target == "" {
		return exists(tree, page, fragment)
	}
	return exists(tree, path.Join(path.Dir(page), target), fragment)
}

// exists reports whether a file or folder exists and, if it is a page, has a heading with the fragment.
func exists(tree fs.FS, file, fragment string) bool {
	if _, err := fs.Stat(tree, path.Clean(file)); err != nil {
		return false
	}
	if fragment == "" || path.Ext(file) != ".md" {
		return true
	}
	text, err := fs.ReadFile(tree, file)
	return err == nil && anchors(string(text))[fragment]
}

// anchors are the fragments of a page's headings, as GitHub makes them, and of the elements that have an id.
func anchors(text string) map[string]bool {
	all, times := map[string]bool{}, map[string]int{}
	fenced, fence := false, regexp.MustCompile("^(?: |[0-9]+\\. |[-*] )*```")
	for line := range strings.SplitSeq(text, "\n") {
		if fence.MatchString(line) {
			fenced = !fenced
		}
		for _, id := range regexp.MustCompile(`<\w+ (?:id|name)="([^"]+)"`).FindAllStringSubmatch(line, -1) {
			all[id[1]] = true
		}
		heading := regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`).FindStringSubmatch(line)
		if fenced || heading == nil {
			continue
		}
		anchor := anchor(heading[1])
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
