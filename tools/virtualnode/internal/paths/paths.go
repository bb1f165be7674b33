// Package paths rewrites the paths that a container expects to the places where they really are.
//
// A process without a mount namespace of its own cannot have its volumes at /etc/…. They lie in
// private directories instead, and every mention of a mount path is rewritten.
package paths

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Table maps mount paths, absolute and clean, to the directories or files that stand for them.
type Table map[string]string

// Rewrite replaces every mention of a mount path in a text: whole path elements only, the longest
// mount path first, each place once. So with /etc/ccm mounted, "--config=/etc/ccm/a.yaml" changes
// while "/etc/ccm.d", "/opt/etc/ccm" and "http://host/etc/ccm" do not.
func (t Table) Rewrite(text string) string {
	mounts := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var out strings.Builder
	for i := 0; i < len(text); {
		mount := match(text, i, mounts)
		if mount == "" {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(t[mount])
		i += len(mount)
	}
	return out.String()
}

// match returns the mount path that is mentioned at offset i, if any.
func match(text string, i int, mounts []string) string {
	if text[i] != '/' || !startsPath(text[:i]) {
		return ""
	}
	for _, mount := range mounts {
		if strings.HasPrefix(text[i:], mount) && endsElement(text[i+len(mount):]) {
			return mount
		}
	}
	return ""
}

// startsPath reports whether an absolute path can start after a text.
func startsPath(before string) bool {
	return before == "" || strings.HasSuffix(before, "file://") || !isPathByte(before[len(before)-1])
}

// endsElement reports whether a path element is complete before a text.
func endsElement(after string) bool {
	return after == "" || after[0] == '/' || !isPathByte(after[0])
}

// isPathByte is true for what paths are usually made of. Other bytes delimit paths.
func isPathByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b >= 0x80:
		return true
	default:
		return strings.IndexByte("/._-~", b) >= 0
	}
}
