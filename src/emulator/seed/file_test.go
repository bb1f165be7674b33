package seed_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
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
	for range tier.Pick(300, 3000) {
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

// aliases is a document in which each of so many regions has the one before ten times.
func aliases(levels int) string {
	text := "regions:\n- &r0 {name: a}\n"
	for i := range levels {
		text += fmt.Sprintf("- &r%d {<<: [%s*r%d]}\n", i+1, strings.Repeat(fmt.Sprintf("*r%d, ", i), 9), i)
	}
	return text
}

// TestReadSaysWhere: an error about what cannot be read has the line, the place, and what must be there.
func TestReadSaysWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"organisations: [null]":             `organisations[0]: line 1: null cannot be in a list`,
		"organisations:\n- name: a\n-\n":    `organisations[1]: line 3: null cannot be in a list`,
		"regions: [{zones: [a, ~]}]":        `regions[0].zones[1]: line 1: null cannot be in a list`,
		"a: &n null\nregions: [*n]":         `a: line 1: this key is unknown`,
		"regions: &r [~]":                   `regions[0]: line 1: null`,
		"machineTypes: [{vcpus: many}]":     `machineTypes[0].vcpus: line 1: "many" is not a number of type int`,
		"regions: [{createdAt: yesterday}]": `regions[0].createdAt: line 1: "yesterday" is not a time such as`,
		"organisations:\n- {machines: [{colour: red}]}": `organisations[0].machines[0].colour: line 2: ` +
			`this key is unknown`,
		"organisations: [{personalAccessTokens: secret}]": `organisations[0].personalAccessTokens: line 1: ` +
			`a single value is not a list`,
		"organisations: [{vpcs: [{securityGroups: [{ingress: [{ports: [22]}]}]}]}]": `organisations[0].vpcs[0].` +
			`securityGroups[0].ingress[0].ports: line 1: a list of length 1 is not a list of length 2`,
		"organisations: [{machines: [{stopped: maybe}]}]": `machines[0].stopped: line 1: "maybe" is not true or false`,
		"organisations: [{machines: [{lingers: long}]}]":  `machines[0].lingers: line 1: "long" is not a duration such`,
		"organisations: [{buckets: [{settings: {colour: red}}]}]": `organisations[0].buckets[0].settings.colour: ` +
			`line 1: this key is unknown`,
		"organisations: [{buckets: [{settings:\n {public: 7}}]}]": `organisations[0].buckets[0].settings.public: ` +
			`line 2: "7" is not true or false`,
		"organisations: [{vpcs: [{securityGroups: [{ingressRules: [{}, null]}]}]}]": `ingressRules[1]: line 1: null`,
		"organisations: [{quotaIncreases: {vpcs: [{decision: []}]}}]": `organisations[0].quotaIncreases.vpcs[0].` +
			`decision: line 1: a list is not a text`,
		"organisations: [{quotas: {vpcs: many}}]": `organisations[0].quotas.vpcs: line 1: "many" is not a number`,
		"":                               "it is empty; leave it out",
		"[]":                             "the document: line 1: a list is not a mapping",
		"regions: [&a {colour: red}]":    `regions[0].colour: line 1: this key is unknown`,
		"regions: [{<<: {colour: red}}]": `regions[0].<<.colour: line 1: this key is unknown`,
		"regions: [{<<: [{name: []}]}]":  `regions[0].<<[0].name: line 1: a list is not a text`,
		"regions: [{name: a, name: b}]":  `line 1: mapping key "name" already defined`,
		"regions: &a [*a]":               "regions[0]: line 1: a list is not a mapping",
		"regions: [&a {<<: *a}]":         "anchor 'a' value contains itself",
		aliases(30):                      "document contains excessive aliasing",
	} {
		_, err := seed.Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	for _, text := range []string{
		"regions: [&a {name: a}, {<<: *a, identity: b}, {<<: [*a], identity: c}]",
		"organisations: [{vpcs: , quotas: , name: ~, roles: [], labels: {a: 1}}]",
		"organisations: [{serviceAccounts: [{federatedIdentities: [{conditions: {a: [null, {b: ~}]}}]}]}]",
		"organisations: [{buckets: [{settings: {VERSIONING: Enabled, policy: }}]}]",
		"organisations: [{createdAt: 2026-01-02, snapshotPolicies: [{ttl: 24h}]}]", "regions:",
	} {
		if _, err := seed.Read(strings.NewReader(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
