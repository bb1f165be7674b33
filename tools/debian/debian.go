// Package debian makes files of Debian packages part of a container image, the same for everyone: the packages are
// pinned by version and digest, and of their files only those are taken that the wanted ones need.
//
//	files, err := debian.Files(ctx, root, "arm64", []string{"/usr/sbin/mkfs.ext4"})
//
// No program of a package runs, and no script of it, so that every machine can do it for every architecture.
package debian

import (
	"encoding/json"
	"fmt"
	"os"
)

// suite is the release of Debian that packages are from.
const suite = "trixie"

// Package is one pinned package of one architecture.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	File    string `json:"file"` // below the address of a mirror: "debian/pool/main/…"
	SHA256  string `json:"sha256"`
	SHA1    string `json:"sha1"` // what snapshot.debian.org calls the file; what it answers is checked by SHA256
}

// String implements fmt.Stringer.
func (p Package) String() string { return p.Name + " " + p.Version }

// Lock is the pinned packages of each architecture.
type Lock map[string][]Package

// ReadLock reads what Write has written.
func ReadLock(path string) (Lock, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the pinned packages of Debian: %w", err)
	}
	var lock Lock
	if err := json.Unmarshal(content, &lock); err != nil {
		return nil, fmt.Errorf("reading the pinned packages of Debian: %s: %w", path, err)
	}
	return lock, nil
}

// Write writes the lock to a file.
func (l Lock) Write(path string) error {
	content, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the pinned packages of Debian: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the pinned packages of Debian: %w", err)
	}
	return nil
}
