package repository

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
)

// maxBytes keeps build products and recordings out: what is larger than this is hardly ever source.
const maxBytes = 1 << 20

// BigFiles finds files that do not belong into git.
func BigFiles(tree fs.FS) ([]Finding, error) {
	var found []Finding
	all := func(string) bool { return true }
	err := files(tree, all, func(p string) error {
		info, err := fs.Stat(tree, p)
		if err != nil {
			return fmt.Errorf("checking %s: %w", p, err)
		}
		if info.Size() > maxBytes {
			found = append(found, Finding{p, 0, fmt.Sprintf("%d KiB, at most %d: keep build products out of git",
				info.Size()>>10, maxBytes>>10)})
		}
		return nil
	})
	return sorted(found), err
}

// localPath matches folders of one person's or one machine's own: others do not have them.
func localPath() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w./:-])(/(?:root|Users|home/\w[\w.-]*)(?:/[\w.-]+)+)`)
}

// LocalPaths finds absolute paths that exist on one machine only.
func LocalPaths(tree fs.FS) ([]Finding, error) {
	var found []Finding
	pattern := localPath()
	err := texts(tree, func(p string, text []byte) {
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := pattern.FindSubmatch(line); m != nil {
				found = append(found,
					Finding{p, i + 1, fmt.Sprintf("%s exists on one machine only: use a relative path or an option",
						m[1])})
			}
		}
	})
	return sorted(found), err
}

// texts visits every file that is not binary: one without a zero byte, as git sees it.
func texts(tree fs.FS, visit func(path string, text []byte)) error {
	all := func(string) bool { return true }
	return files(tree, all, func(p string) error {
		text, err := fs.ReadFile(tree, p)
		if err != nil {
			return fmt.Errorf("reading %s: %w", p, err)
		}
		if !bytes.Contains(text, []byte{0}) {
			visit(p, text)
		}
		return nil
	})
}
