package configfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

type sample struct {
	Endpoint string            `yaml:"endpoint"`
	Insecure bool              `yaml:"insecure"`
	Labels   map[string]string `yaml:"labels"`
	Nested   nested            `yaml:"nested"`
}

type nested struct {
	Interval int `yaml:"interval"`
}

// plainKeys are the keys of the sample without rules.
func plainKeys() []Key {
	keys := sampleKeys()
	for i := range keys {
		keys[i].Rule, keys[i].Required = Rule{}, false
	}
	return keys
}

// decode decodes and applies a sample.
func decode(t *testing.T, text string, defaults sample, keys []Key, env map[string]string) (sample, *File) {
	t.Helper()
	file, err := Decode(strings.NewReader(text), &defaults, keys)
	if err != nil {
		t.Fatal(err)
	}
	file.Apply(keys, func(name string) string { return env[name] })
	return defaults, file
}

func TestDecode(t *testing.T) {
	defaults := sample{Endpoint: "https://default", Nested: nested{Interval: 5}}
	tests := []struct {
		name, yaml string
		want       sample
		problems   []string
	}{
		{"absent keys keep the default", "insecure: true", sample{Endpoint: "https://default", Insecure: true,
			Nested: nested{Interval: 5}}, nil},
		{"null keeps the default", "endpoint: null\nnested: null", defaults, nil},
		{"empty text keeps the default", `endpoint: ""`, defaults, nil},
		{"a whole number with a fraction", "nested: {interval: 7.0}", sample{Endpoint: "https://default",
			Nested: nested{Interval: 7}}, nil},
		{"everything set", "endpoint: e\ninsecure: true\nlabels: {a: b}\nnested: {interval: 7}",
			sample{Endpoint: "e", Insecure: true, Labels: map[string]string{"a": "b"}, Nested: nested{Interval: 7}},
			nil},
		{"JSON", `{"endpoint": "e", "nested": {"interval": 1}}`,
			sample{Endpoint: "e", Nested: nested{Interval: 1}}, nil},
		{"anchor and alias", "labels: &l {a: b}\nendpoint: x",
			sample{Endpoint: "x", Labels: map[string]string{"a": "b"}, Nested: nested{Interval: 5}}, nil},
		{"misspelt key", "endpont: e", defaults, []string{`endpont: unknown key in line 1; did you mean "endpoint"?`}},
		{"unknown key", "nested: {colour: red}", defaults,
			[]string{`nested.colour: unknown key in line 1; known here are interval`}},
		{"key given twice", "insecure: false\ninsecure: true", defaults,
			[]string{"insecure: given twice, again in line 2; keep one"}},
		{"all problems at once", "endpoint: 5\ninsecure: maybe\nnested: {interval: fast}\nlabels: {a: 1}",
			sample{Endpoint: "https://default", Labels: map[string]string{}, Nested: nested{Interval: 5}},
			[]string{
				"endpoint: found a number, want text (put it in quotes)",
				"insecure: found text, want true or false",
				"nested.interval: found text, want a whole number",
				"labels.a: found a number, want text (put it in quotes)",
			}},
		{"wrong shape", "nested: [1]\nlabels: text", defaults, []string{
			"nested: found a list, want a mapping of keys to values",
			"labels: found text, want a mapping of text to text",
		}},
		{"no mapping at all", "just text", defaults,
			[]string{"the file: found text, want a mapping of keys to values"}},
		{"a fraction", "nested: {interval: 7.5}", defaults,
			[]string{"nested.interval: found 7.5, want a whole number"}},
		{"label given twice", "labels: {a: x, a: y}", sample{Endpoint: "https://default",
			Labels: map[string]string{"a": "x"}, Nested: nested{Interval: 5}},
			[]string{"labels.a: given twice, again in line 1; keep one"}},
		{"a key of several lines", "\"a\\nb\": 1\n? [x]\n: 2", defaults, []string{
			"(key in line 1): unknown key in line 1; known here are endpoint, insecure, labels, nested",
			"(key in line 2): unknown key in line 2; known here are endpoint, insecure, labels, nested",
		}},
		{"number too large", "nested: {interval: 99999999999999999999}", defaults,
			[]string{"nested.interval: found 99999999999999999999, want a whole number"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, file := decode(t, tt.yaml, defaults, plainKeys(), nil)
			if diff := cmp.Diff(tt.problems, file.Problems().Lines()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecodeWarns: what YAML 1.1 takes for a boolean is accepted without quotes, in the ways that it has, and with a
// warning.
func TestDecodeWarns(t *testing.T) {
	for text, want := range map[string]struct {
		value    bool
		warning  string
		problems []string
	}{
		"yes":   {true, "insecure: found yes, which is taken as true; write true", nil},
		"On":    {true, "insecure: found On, which is taken as true; write true", nil},
		"n":     {false, "insecure: found n, which is taken as false; write false", nil},
		"OFF":   {false, "insecure: found OFF, which is taken as false; write false", nil},
		"true":  {true, "", nil},
		`"yes"`: {false, "", []string{"insecure: found text, want true or false"}},
		"yEs":   {false, "", []string{"insecure: found text, want true or false"}},
		"1":     {false, "", []string{"insecure: found 1, want true or false"}},
	} {
		got, file := decode(t, "insecure: "+text, sample{}, plainKeys(), nil)
		if got.Insecure != want.value || strings.Join(file.Warnings(), "\n") != want.warning {
			t.Errorf("%s: %t with the warnings %q, want %+v", text, got.Insecure, file.Warnings(), want)
		}
		if diff := cmp.Diff(want.problems, file.Problems().Lines()); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", text, diff)
		}
	}
}

func TestDecodeRefusesWhatIsNoDocument(t *testing.T) {
	for name, tt := range map[string]struct{ yaml, want string }{
		"empty":         {"", "the file is empty"},
		"only comments": {"# nothing\n", "the file is empty"},
		"bad syntax":    {"a: [", "parsing YAML"},
		"INI":           {"[Global]\nauth-url=\"https://x\"\npassword=hunter2\n", "the file is in the format INI"},
		"INI with comments": {"\n; one\n# two\n[LoadBalancer \"internal\"] ; three\nsubnet-id = x\n",
			"docs/reference/names-from-elsewhere.md"},
		"INI without sections": {"auth-url = https://x\nregion = one\n", "the file is in the format INI"},
		"two documents":        {"endpoint: a\n---\nendpoint: b\n", "more than one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.yaml), &sample{}, plainKeys())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that contains %q", err, tt.want)
			}
		})
	}
}

func TestDecodeNeverRepeatsText(t *testing.T) {
	for _, file := range []string{
		"insecure: hunter2\nnested: {interval: hunter2}", "endpoint: 8675309123", "endpoint: !env hunter2",
		"endpoint: 2026-11-21",
		"endpoint: *hunter2", "endpoint: {hunter2: x}", "labels: {a: [hunter2]}", "insecure: !!bool hunter2",
		"endpoint: !!null hunter2",
		"nested: {interval: !!int hunter2}", "nested: {interval: !!float hunter2}", "hunter2", "? hunter2 or so\n: x",
		"endpoint: %hunter2",
		"endpoint: &x hunter2\n*x : 1", "endpoint: `hunter2`", "endpoint: \"hunter2", "endpoint: @hunter2",
		"endpoint: |1hunter2\n", "[Global]\npassword=hunter2", "[hunter2]", "password = hunter2", "hunter2=x",
	} {
		decoded, err := Decode(strings.NewReader(file), &sample{}, plainKeys())
		text := fmt.Sprint(err)
		if err == nil {
			decoded.Apply(plainKeys(), func(string) string { return "" })
			text = fmt.Sprint(decoded.Err())
		}
		if text == fmt.Sprint(nil) {
			t.Errorf("%q is accepted", file)
		}
		for _, secret := range []string{"hunter2", "8675309123", "2026-11-21"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q: a value that may be a secret is repeated: %s", file, text)
			}
		}
	}
}

// planted is a secret that no error may show.
const planted = "hunter2"

// FuzzDecode: never a panic, never a secret, and one line for each problem.
func FuzzDecode(f *testing.F) {
	f.Add("endpoint: hunter2\nnested: {interval: 3}")
	f.Add("labels: {a: &x hunter2, c: *x}")
	f.Add("insecure: !!bool hunter2\nendpoint: [hunter2]\nnested: \"hunter2\"")
	f.Add("? [a]\n: *b\n\"a\\nb\": !!int hunter2")
	f.Fuzz(func(t *testing.T, text string) {
		var got sample
		file, err := Decode(strings.NewReader(text), &got, sampleKeys())
		var problems Problems
		if err == nil {
			file.Apply(sampleKeys(), func(string) string { return "" })
			problems = file.Problems()
			err = problems.Err()
		}
		for _, line := range problems.Lines() {
			if strings.ContainsAny(line, "\r\n") {
				t.Errorf("a problem of several lines: %q", line)
			}
		}
		// Keys are names and are repeated; values never are.
		if err != nil && strings.Contains(err.Error(), planted) && !isKey(text, planted) {
			t.Errorf("%q: the secret is repeated: %v", text, err)
		}
	})
}

// isKey reports whether a part of a key in the file, or the name of an anchor, has the text in it.
func isKey(file, text string) bool {
	var document yaml.Node
	if yaml.Unmarshal([]byte(file), &document) != nil {
		return false
	}
	return holdsKey(&document, text)
}

func holdsKey(node *yaml.Node, text string) bool {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && strings.Contains(child.Value, text) {
			return true
		}
		if holdsKey(child, text) {
			return true
		}
	}
	return false
}
