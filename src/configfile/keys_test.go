package configfile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleDefaults() sample { return sample{Endpoint: "https://default", Nested: nested{Interval: 5}} }

func sampleKeys() []Key {
	return []Key{
		{Path: "endpoint", Effect: "Where it is.", Example: "https://x", Since: "1.0.0", Environment: "ENDPOINT",
			Required: true,
			Rule:     Matching(`https://[a-z.]+`, "a URL like https://x")},
		{Path: "insecure", Effect: "Trusts anybody.", Example: "true", Since: "1.0.0", Secret: false},
		{Path: "labels", Effect: "Labels.", Example: "{a: b}", Since: "1.1.0",
			Rule: Rule{Want: "lower-case letters", Keys: `[a-z./]+`, Pattern: `[a-z]+`, Reserved: "ours.example/"}},
		{Path: "nested.interval", Effect: "How often.", Example: "7", Since: "1.0.0", Rule: Whole(1, 60, "seconds")},
	}
}

func TestDescribe(t *testing.T) {
	entries, err := Describe(sampleDefaults(), sampleKeys())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, strings.Join([]string{e.Path, e.Type, e.Default, e.Allowed()}, "|"))
	}
	want := []string{
		"endpoint|text|https://default|a URL like https://x",
		"insecure|true or false|false|true or false",
		"labels|a mapping of text to text||lower-case letters",
		"nested.interval|a whole number|5|a whole number of seconds from 1 to 60",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestDescribeFindsWhatIsForgotten(t *testing.T) {
	keys := sampleKeys()
	for name, tt := range map[string]struct {
		keys []Key
		want string
	}{
		"not described": {keys[1:], "key endpoint is in the struct but not in the list"},
		"not there": {append(slices.Clone(keys), Key{Path: "nested.gone"}),
			"key nested.gone is in the list of keys but not in the struct"},
		"twice": {append(slices.Clone(keys), keys[0]), "key endpoint is listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Describe(sampleDefaults(), tt.keys); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Describe = %v, want %q", err, tt.want)
			}
			if _, err := Decode(strings.NewReader("{}"), &sample{}, tt.keys); err == nil {
				t.Error("a file is decoded nevertheless")
			}
			if _, err := NewSchema("sample", sampleDefaults(), tt.keys); err == nil {
				t.Error("a schema is made nevertheless")
			}
		})
	}
}

func TestApply(t *testing.T) {
	tests := []struct {
		name, yaml string
		env        map[string]string
		want       []string
	}{
		{"everything good", "endpoint: https://a\nlabels: {a: b}\nnested: {interval: 60}", nil, nil},
		{"absent is good", "insecure: false", nil, nil},
		{"pattern", "endpoint: http://a", nil, []string{"endpoint: found text, want a URL like https://x"}},
		{"blank", "endpoint: ' https://a'", nil,
			[]string{"endpoint: found text with a blank or a line end in it, want a URL like https://x"}},
		{"a line end is no end of the text", "endpoint: |\n  https://a\n", nil,
			[]string{"endpoint: found text with a blank or a line end in it, want a URL like https://x"}},
		{"range", "nested: {interval: 61}", nil,
			[]string{"nested.interval: found 61, want a whole number of seconds from 1 to 60"}},
		{"environment is checked too", "insecure: true", map[string]string{"ENDPOINT": "a b"},
			[]string{"endpoint: found text with a blank or a line end in it in the environment variable ENDPOINT, " +
				"want a URL like https://x"}},
		{"file wins over environment", "endpoint: https://a", map[string]string{"ENDPOINT": "a b"}, nil},
		{"wrong type is reported once", "nested: {interval: many}\nendpoint: 5", nil, []string{
			"nested.interval: found text, want a whole number of seconds from 1 to 60",
			"endpoint: found a number, want text (put it in quotes)"}},
		{"labels", "labels: {ours.example/a: b, B: x, c: \"\", d: 'x y', 'x y': z}", nil, []string{
			"labels.(key in line 1): found a key that is not allowed, want lower-case letters",
			"labels.B: found a key that is not allowed, want lower-case letters",
			"labels.c: found empty text, want lower-case letters",
			"labels.d: found text with a blank or a line end in it, want lower-case letters",
			"labels.ours.example/a: keys that begin with ours.example/ are set by this program itself; " +
				"want another key",
		}},
		{"order of the file", "nested: {interval: 0}\nwrong: 1\nendpoint: x", nil, []string{
			"nested.interval: found 0, want a whole number of seconds from 1 to 60",
			"wrong: unknown key in line 2; known here are endpoint, insecure, labels, nested",
			"endpoint: found text, want a URL like https://x",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, file := decode(t, tt.yaml, sampleDefaults(), sampleKeys(), tt.env)
			lines := file.Problems().Lines()
			if tt.name == "labels" {
				slices.Sort(lines) // all of them are in one line of the file
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequired(t *testing.T) {
	keys := sampleKeys()
	for environment, want := range map[string]string{
		"ENDPOINT": "endpoint: missing: want a URL like https://x; the environment variable ENDPOINT is not set either",
		"":         "endpoint: missing: want a URL like https://x",
	} {
		keys[0].Environment = environment
		_, file := decode(t, "insecure: true", sample{Nested: nested{Interval: 5}}, keys, nil)
		if err := file.Err(); err == nil || err.Error() != want {
			t.Errorf("problems %v, want %s", err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	got, file := decode(t, "insecure: true", sample{Nested: nested{Interval: 5}}, sampleKeys(),
		map[string]string{"ENDPOINT": "https://env\n"})
	if err := file.Err(); err != nil || got.Endpoint != "https://env" {
		t.Errorf("endpoint %q, problems %v; want that of the environment", got.Endpoint, err)
	}
}

func TestShow(t *testing.T) {
	keys := sampleKeys()
	keys[0].Secret = true
	value := sample{Endpoint: "hunter2", Labels: map[string]string{"a": "b"}}
	got, err := Show(value, keys)
	want := "endpoint: (not shown)\ninsecure: false\nlabels:\n    a: b\nnested:\n    interval: 0\n"
	if err != nil || string(got) != want {
		t.Errorf("shown as\n%serror %v, want\n%s", got, err, want)
	}
	if value.Endpoint != "hunter2" {
		t.Error("showing changed the value")
	}
	if got, err := Show(sample{}, keys); err != nil || strings.Contains(string(got), hidden) {
		t.Errorf("a secret that is not set is shown as set: %s, error %v", got, err)
	}
}

// properties follows keys through a schema.
func properties(t *testing.T, schema map[string]any, keys ...string) map[string]any {
	t.Helper()
	for _, key := range keys {
		nested, ok := schema["properties"].(map[string]any)[key].(map[string]any)
		if !ok {
			t.Fatalf("no %s among %q", key, slices.Collect(maps.Keys(schema)))
		}
		schema = nested
	}
	return schema
}
