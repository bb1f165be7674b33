package object

import (
	"maps"
	"net/url"
	"testing"
)

func TestParseFilter(t *testing.T) {
	tests := map[string]struct {
		query  string
		ignore []string
		keys   map[string]string
		labels map[string]string
	}{
		"nothing":  {"", nil, nil, nil},
		"keys":     {"vpc=a&name=b", nil, map[string]string{"vpc": "a", "name": "b"}, nil},
		"blank":    {"vpc=&name=%20", nil, nil, nil},
		"repeated": {"vpc=a&vpc=b", nil, map[string]string{"vpc": "b"}, nil},
		"label": {"matchLabels%5Bk8s.thalassa.cloud%2Fx%5D=1", nil, nil,
			map[string]string{"k8s.thalassa.cloud/x": "1"}},
		"empty label": {"matchLabels[a]=", nil, nil, map[string]string{"a": ""}},
		"unclosed":    {"matchLabels[a=1", nil, map[string]string{"matchLabels[a": "1"}, nil},
		"ignored": {"vpc=a&name=b&matchLabels[a]=1", []string{"name", "matchLabels"},
			map[string]string{"vpc": "a"}, nil},
		"labels are kept": {"name=b&matchLabels[a]=1", []string{"name"}, nil, map[string]string{"a": "1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			query, err := url.ParseQuery(test.query)
			if err != nil {
				t.Fatal(err)
			}
			got := ParseFilter(query, test.ignore)
			if !maps.Equal(got.keys, test.keys) || !maps.Equal(got.Labels, test.labels) {
				t.Errorf("%+v, want keys %v, labels %v", got, test.keys, test.labels)
			}
		})
	}
}

func TestSubset(t *testing.T) {
	labels := map[string]string{"a": "1", "b": "2"}
	for name, test := range map[string]struct {
		selector map[string]string
		want     bool
	}{
		"empty selects nothing": {nil, false}, "one": {map[string]string{"a": "1"}, true}, "all": {labels, true},
		"other value": {map[string]string{"a": "2"}, false}, "other key": {map[string]string{"c": ""}, false},
	} {
		if got := Subset(test.selector, labels); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestTraits(t *testing.T) {
	has := Named("i", "s", "n").With("status", "one", "two").With("many", "a", "b", "c").With("none")
	for _, test := range []struct {
		key, value string
		want       bool
	}{
		{"identity", "i", true}, {"identity", "s", false}, {"status", "one", true}, {"status", "two", true},
		{"status", "three", false},
		{"many", "c", true}, {"many", "d", false}, {"none", "", false}, {"unknown", "x", true}, {"name", "", false},
	} {
		if got := has.allows(test.key, test.value); got != test.want {
			t.Errorf("%s=%s: %t, want %t", test.key, test.value, got, test.want)
		}
	}
}
