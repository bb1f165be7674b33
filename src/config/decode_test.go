package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestDecode(t *testing.T) {
	defaults := sample{Endpoint: "https://default", Nested: nested{Interval: 5}}
	tests := []struct {
		name, yaml string
		want       sample
		problems   []string
	}{
		{"absent keys keep the default", "insecure: true", sample{Endpoint: "https://default", Insecure: true, Nested: nested{Interval: 5}}, nil},
		{"null keeps the default", "endpoint: null\nnested: null", defaults, nil},
		{"everything set", "endpoint: e\ninsecure: true\nlabels: {a: b}\nnested: {interval: 7}",
			sample{Endpoint: "e", Insecure: true, Labels: map[string]string{"a": "b"}, Nested: nested{Interval: 7}}, nil},
		{"JSON", `{"endpoint": "e", "nested": {"interval": 1}}`, sample{Endpoint: "e", Nested: nested{Interval: 1}}, nil},
		{"anchor and alias", "labels: &l {a: b}\nendpoint: x", sample{Endpoint: "x", Labels: map[string]string{"a": "b"}, Nested: nested{Interval: 5}}, nil},
		{"misspelt key", "endpont: e", defaults, []string{`endpont: unknown key in line 1; did you mean "endpoint"?`}},
		{"unknown key", "nested: {colour: red}", defaults, []string{`nested.colour: unknown key in line 1; known here are interval`}},
		{"key given twice", "insecure: false\ninsecure: true", defaults, []string{"insecure: given twice, again in line 2; keep one"}},
		{"all problems at once", "endpoint: 5\ninsecure: maybe\nnested: {interval: fast}\nlabels: {a: 1}", sample{Endpoint: "https://default", Labels: map[string]string{}, Nested: nested{Interval: 5}},
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
		{"number too large", "nested: {interval: 99999999999999999999}", defaults, []string{"nested.interval: found 99999999999999999999, want a whole number"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := defaults
			problems, err := Decode(strings.NewReader(tt.yaml), &got)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, p := range problems {
				lines = append(lines, p.String())
			}
			if diff := cmp.Diff(tt.problems, lines); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefusesWhatIsNoDocument(t *testing.T) {
	for name, tt := range map[string]struct{ yaml, want string }{
		"empty":         {"", "the file is empty"},
		"only comments": {"# nothing\n", "the file is empty"},
		"bad syntax":    {"a: [", "parsing YAML"},
		"two documents": {"endpoint: a\n---\nendpoint: b\n", "more than one YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.yaml), &sample{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that contains %q", err, tt.want)
			}
		})
	}
}

func TestDecodeNeverRepeatsText(t *testing.T) {
	for _, file := range []string{
		"insecure: hunter2\nnested: {interval: hunter2}", "endpoint: 8675309123", "endpoint: !env hunter2", "endpoint: 2026-11-21",
		"endpoint: *hunter2", "endpoint: {hunter2: x}", "labels: {a: [hunter2]}",
	} {
		problems, err := Decode(strings.NewReader(file), &sample{})
		text := fmt.Sprint(err, problems)
		if len(problems) == 0 && err == nil {
			t.Errorf("%q is accepted", file)
		}
		for _, secret := range []string{"hunter2", "8675309123", "2026-11-21"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q: a value that may be a secret is repeated: %s", file, text)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("endpoint: e\nnested: {interval: 3}")
	f.Add("labels: {a: &x b, c: *x}")
	f.Fuzz(func(t *testing.T, text string) {
		var got sample
		if problems, err := Decode(strings.NewReader(text), &got); err == nil {
			_ = problems.Err()
		}
	})
}
