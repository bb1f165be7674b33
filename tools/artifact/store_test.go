package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangedStore: a byte that changed on the way is found before anything is uploaded.
func TestChangedStore(t *testing.T) {
	store, subject := filled(t)
	if err := store.Check(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(string(store.path), "blobs", "sha256", subject.Descriptor.Digest.Hex)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[0] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(); err == nil || !strings.Contains(err.Error(), subject.Descriptor.Digest.String()) {
		t.Errorf("error = %v, want one that names %s", err, subject.Descriptor.Digest)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(string(store.path), "blobs")); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(); err == nil {
		t.Error("a store without content is unchanged")
	}
}
