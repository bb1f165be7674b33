package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestSums: what is downloaded from a page of files can be checked with the public key alone.
func TestSums(t *testing.T) {
	tier.NeedFull(t)
	key, _ := newKey(t)
	folder, _ := made(t, source(t), key)
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		listed := strings.Contains(string(sums), "  "+entry.Name()+"\n")
		if left := entry.IsDir() || strings.HasPrefix(entry.Name(), "SHA256SUMS"); listed == left {
			t.Errorf("%s: listed %t", entry.Name(), listed)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS.sig"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := key.VerifySignature(bytes.NewReader(signed), bytes.NewReader(sums)); err != nil {
		t.Error(err)
	}
}

// TestKeyHasToBeTheCommittedOne: users know no other.
func TestKeyHasToBeTheCommittedOne(t *testing.T) {
	tier.NeedFull(t)
	s := source(t)
	key, _ := newKey(t)
	other, _ := newKey(t)
	try := func() error {
		return makeWith(t.Context(), small(), s, filepath.Join(t.TempDir(), "release"), key, io.Discard)
	}
	if err := try(); err == nil || !strings.Contains(err.Error(), "-----BEGIN PUBLIC KEY-----") {
		t.Errorf("without a committed key: %v, want one that shows what to commit", err)
	}
	commitKey(t, s, other)
	if err := try(); err == nil || !strings.Contains(err.Error(), "not the one whose public half is committed") {
		t.Errorf("with another committed key: %v", err)
	}
}

// TestProvenanceNamesTheCompiler that the program itself names, not that of this tool.
func TestProvenanceNamesTheCompiler(t *testing.T) {
	tier.NeedFull(t)
	folder, _ := made(t, source(t), nil)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	statements := 0
	for name, text := range content(t, folder) {
		var statement struct {
			Predicate struct {
				BuildDefinition struct{ InternalParameters struct{ Go string } }
			}
		}
		if !strings.HasPrefix(name, "oci/blobs/") || !strings.Contains(text, "https://slsa.dev/provenance/v1") ||
			json.Unmarshal([]byte(text), &statement) != nil {
			continue
		}
		statements++
		if got := statement.Predicate.BuildDefinition.InternalParameters.Go; got != info.GoVersion {
			t.Errorf("a provenance names Go %q, the program was made with %q", got, info.GoVersion)
		}
	}
	if statements != 7 { // three images, two charts, bundle, plug-in
		t.Errorf("%d statements", statements)
	}
}
