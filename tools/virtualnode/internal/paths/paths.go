// Package paths rewrites the paths that a container expects to the places where they really are.
//
// A process without a mount namespace of its own cannot have its volumes at /etc/…. They lie in
// private directories instead, and every mention of a mount path is rewritten.
package paths

import (
	"regexp"
	"strings"
)

// Table maps mount paths, absolute and clean, to the directories or files that stand for them.
type Table map[string]string

// Rewrite replaces every mention of a mount path in a text: whole path elements only, the longest
// mount path first, each place once. So with /etc/ccm mounted, "--config=/etc/ccm/a.yaml" changes
// while "/etc/ccm.d", "/opt/etc/ccm" and "http://host/etc/ccm" do not.
func (t Table) Rewrite(text string) string {
	// What paths are usually made of. Other characters delimit paths.
	paths := regexp.MustCompile(`(?:file://)?[\pL\pN/._~-]+`)
	return paths.ReplaceAllStringFunc(text, func(found string) string {
		path := strings.TrimPrefix(found, "file://")
		before := strings.TrimSuffix(found, path)
		for mount := path; mount != ""; mount = mount[:max(strings.LastIndexByte(mount, '/'), 0)] {
			if place, ok := t[mount]; ok {
				return before + place + path[len(mount):]
			}
		}
		return found
	})
}
