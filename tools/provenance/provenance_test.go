package provenance

import (
	"bytes"
	"strings"
	"testing"
	"time"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

func build() Build {
	return Build{
		Version: "v1.2.3", Revision: strings.Repeat("0a", 20), Committed: time.Date(2026, 11, 21, 10, 0, 0, 0,
			time.UTC),
		Command: "make release VERSION=v1.2.3", GoVersion: "go1.26.8",
		Materials: []Subject{{Name: "src/go.sum", SHA256: strings.Repeat("1b", 32)}},
	}
}

// TestStatement: the libraries of the formats read it and find it valid.
func TestStatement(t *testing.T) {
	subjects := []Subject{{Name: "thalassa-emulator", SHA256: strings.Repeat("2c", 32)}}
	written, err := Statement(subjects, build())
	if err != nil {
		t.Fatal(err)
	}
	read := &intoto.Statement{}
	if err := protojson.Unmarshal(written, read); err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	if got := read.GetSubject()[0]; got.GetName() != "thalassa-emulator" ||
		got.GetDigest()["sha256"] != subjects[0].SHA256 {
		t.Errorf("subject %v", got)
	}
	raw, err := protojson.Marshal(read.GetPredicate())
	if err != nil {
		t.Fatal(err)
	}
	predicate := &slsa.Provenance{}
	if err := protojson.Unmarshal(raw, predicate); err != nil {
		t.Fatal(err)
	}
	if err := predicate.Validate(); err != nil {
		t.Error(err)
	}
	materials := predicate.GetBuildDefinition().GetResolvedDependencies()
	if len(materials) != 2 || materials[0].GetDigest()["gitCommit"] != build().Revision ||
		materials[1].GetName() != "src/go.sum" {
		t.Errorf("materials %v", materials)
	}
	for range 20 { // the library flips a coin for each process and place
		if again, err := Statement(subjects, build()); err != nil || !bytes.Equal(written, again) {
			t.Fatalf("the same arguments give other bytes: %v", err)
		}
	}
	if !bytes.Contains(written, []byte(`"command": "make release VERSION=v1.2.3"`)) {
		t.Errorf("the command is missing, or not in the form that does not vary:\n%s", written)
	}
}

func TestNothingToSay(t *testing.T) {
	if _, err := Statement(nil, build()); err == nil {
		t.Error("a statement about nothing is no error")
	}
}
