package release

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkKey requires the key to be the one whose public half is committed: users take it from there, and would refuse
// everything that is signed with another.
func (m *maker) checkKey() error {
	if m.key == nil {
		return nil
	}
	public, err := m.key.Public()
	if err != nil {
		return err
	}
	committed, err := os.ReadFile(filepath.Join(m.Root, publicKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the commit has no file %s: commit the public key, so that users have it from a place they "+
			"trust:\n%s", publicKeyFile, public)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace(committed), bytes.TrimSpace(public)) {
		return fmt.Errorf("the key to sign with is not the one whose public half is committed as %s: users would "+
			"refuse the release", publicKeyFile)
	}
	return nil
}

// sums writes the public key, and a list of all files with their digests in the form that `sha256sum --check` reads,
// and its signature. The store is not among them: its content is named by digests, which are signed.
func (m *maker) sums() error {
	if err := m.addKey(); err != nil {
		return err
	}
	list, err := m.listFiles()
	if err != nil {
		return err
	}
	if err := m.write(checksumsFile, list); err != nil || m.key == nil {
		return err
	}
	signed, err := m.key.SignBlob(list)
	if err != nil {
		return err
	}
	return m.write(signatureFile, signed)
}

// addKey writes the public key, if there is one.
func (m *maker) addKey() error {
	if m.key == nil {
		return nil
	}
	public, err := m.key.Public()
	if err != nil {
		return err
	}
	return m.write(publicKeyFile, public)
}

// listFiles has a line for every file, sorted by name.
func (m *maker) listFiles() ([]byte, error) {
	entries, err := os.ReadDir(m.folder)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(m.folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return []byte(lines.String()), nil
}
