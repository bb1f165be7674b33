package main

import (
	"fmt"
	"runtime/debug"
)

// The linker sets these: go build -ldflags "-X main.version=v1.2.3 -X main.revision=0123… -X
// main.committed=2026-11-21T10:00:00Z".
//
//nolint:gochecknoglobals // the linker can set nothing else
var version, revision, committed string

// build identifies the sources of a program.
type build struct {
	version   string // "v1.2.3", or what git describes the sources by
	revision  string // commit in git
	committed string // when the commit was made, RFC 3339 in UTC
}

// String is one line for --version. The version is the module's, as go install records it, if the linker does not set
// one.
func (b build) String() string {
	if b.version == "" {
		b.version = "devel"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			b.version = info.Main.Version
		}
	}
	if b.revision == "" {
		return b.version
	}
	return fmt.Sprintf("%s (revision %s of %s)", b.version, b.revision, b.committed)
}
