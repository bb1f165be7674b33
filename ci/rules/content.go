package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// maxBytes keeps build products and recordings out: what is larger than this is hardly ever source.
const maxBytes = 1 << 20

// BigFiles finds files that do not belong into git.
func BigFiles(t *Tree) []string {
	var out []string
	for p, content := range t.files {
		if len(content) > maxBytes {
			out = append(out, fmt.Sprintf("%s: %d KiB, at most %d: keep build products out of git", p, len(content)>>10,
				maxBytes>>10))
		}
	}
	return out
}

// LocalPaths finds absolute paths below the folders of one person or one machine: others do not have them.
func LocalPaths(t *Tree) []string {
	var out []string
	local := regexp.MustCompile(`(?:^|[^\w./:-])(/(?:root|Users|home/\w[\w.-]*)(?:/[\w.-]+)+)`)
	for p, text := range t.texts() {
		for i, line := range strings.Split(text, "\n") {
			if match := local.FindStringSubmatch(line); match != nil {
				out = append(out, found(p, i+1, "%s exists on one machine only: use a relative path or an option",
					match[1]))
			}
		}
	}
	return out
}

// Workflows finds what would see the secrets of a release, or could write to the repository, and should not: actions of
// others than GitHub or that could change tomorrow, workflows and containers of others, and workflows without the
// default that they only read. actionlint checks everything else.
func Workflows(t *Tree) []string {
	var out []string
	foreign := regexp.MustCompile(`\b(uses|container|services): *["']?([^\s"',}]*)`)
	pinned := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)
	readOnly := regexp.MustCompile(`(?m)^permissions:\n  contents: read$`)
	for p, text := range t.texts() {
		if !strings.HasPrefix(p, ".github/workflows/") {
			continue
		}
		if !readOnly.MatchString(text) {
			out = append(out, p+": the permissions of the workflow must be `contents: read`; a job can have more")
		}
		for i, line := range strings.Split(text, "\n") {
			if match := foreign.FindStringSubmatch(line); match != nil && !pinned.MatchString(match[2]) {
				out = append(out, found(p, i+1, "%s %s: only actions of GitHub itself, at a commit, may see our "+
					"secrets", match[1], match[2]))
			}
		}
	}
	return out
}
