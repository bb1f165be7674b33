package seed_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// withText is a seed that has a text wherever one can be: a value, a key, a text of several lines, and one in JSON.
func withText(text string) seed.Seed {
	reason := text
	return seed.Seed{Version: seed.Version, Organisations: []seed.Organisation{{
		Name: "demo",
		QuotaIncreases: map[string]seed.JSON[[]wire.QuotaIncrease]{
			"vpcs": {Value: []wire.QuotaIncrease{{DecisionReason: &reason}}}},
		VPCs: []seed.VPC{{Name: text, Details: seed.Details{
			Annotations: map[string]string{"a": text, "b" + text: ""}, History: seed.History{Description: text}}}},
		Objects: seed.Objects{CloudInits: []seed.CloudInit{{Content: text}}},
	}}}
}

// TestWriteKeepsTexts: what Write writes, Read reads as it was, whatever characters texts have.
func TestWriteKeepsTexts(t *testing.T) {
	t.Parallel()
	texts := []string{"\techo hi\n\techo ho\n", "\tx\ny", "\n", "true", "1e3", "- a: b", "---\n...", "x\r\ny", "\r",
		"''\n\"", strings.Repeat("long words ", 50), "trailing \n\n\n", "# no comment", "\ufeffx",
		"x\ufffe\U0001f600", "2026-01-01"}
	random := rand.New(rand.NewPCG(1, 2))
	characters := []rune(" \t\n\r\\\"'#:-?|>&*!%@`{}[],ab1é\x01\x1b\x7f\u0080\u0085\u00a0\u2028\u2029\ufeff" +
		"\ufffd\ufffe\U0001f600")
	for range 3000 {
		var text strings.Builder
		for range random.IntN(8) {
			text.WriteRune(characters[random.IntN(len(characters))])
		}
		texts = append(texts, text.String())
	}
	for _, text := range texts {
		want := withText(text)
		var written bytes.Buffer
		if err := seed.Write(&written, want); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if read, err := seed.Read(&written); err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("%q became %+v, error %v", text, read, err)
		}
	}
}

// TestWriteIsPlain: apart from such texts, the YAML is that of the library.
func TestWriteIsPlain(t *testing.T) {
	t.Parallel()
	want := withText("a word")
	for _, more := range []seed.Seed{seed.Default(), want} {
		more.Version = seed.Version
		more.Organisations[0].VPCs[0].CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		var plain, written bytes.Buffer
		encoder := yaml.NewEncoder(&plain)
		encoder.SetIndent(2)
		if err := encoder.Encode(more); err != nil {
			t.Fatal(err)
		}
		if err := seed.Write(&written, more); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(written.String(), plain.String()) {
			t.Errorf("the library writes\n%s\nand Write writes\n%s", plain.String(), written.String())
		}
	}
}

// TestReadRefusesVersions that are not there yet, or never were.
func TestReadRefusesVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version: -1": "must not be negative", "version: 999": "knows versions up to",
	} {
		if _, err := seed.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
