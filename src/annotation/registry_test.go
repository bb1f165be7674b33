package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type keys struct {
	registry *Registry
	limit    Key[int]
	proxy    Key[bool]
	policy   Key[string]
}

func newKeys() keys {
	registry := NewRegistry("lb.example.com/")
	return keys{
		registry: registry,
		limit:    Register(registry, Definition{Name: "limit", Effect: "Limits."}, Int(1, 100, "connections"), 10),
		proxy:    Register(registry, Definition{Name: "proxy", Effect: "Proxies."}, Bool(), false),
		policy:   Register(registry, Definition{Name: "policy", Effect: "Chooses."}, Enum("A", "B"), "A"),
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		limit       Setting[int]
		proxy       Setting[bool]
		policy      Setting[string]
		problems    []string
	}{
		{"nothing set", nil, Setting[int]{Value: 10}, Setting[bool]{}, Setting[string]{Value: "A"}, nil},
		{"all set", map[string]string{"lb.example.com/limit": "7", "lb.example.com/proxy": "true", "lb.example.com/policy": "B"},
			Setting[int]{Value: 7}, Setting[bool]{Value: true}, Setting[string]{Value: "B"}, nil},
		{"spaces around a value", map[string]string{"lb.example.com/limit": " 7 "}, Setting[int]{Value: 7}, Setting[bool]{}, Setting[string]{Value: "A"}, nil},
		{"foreign annotations are ignored", map[string]string{"other.example.com/limit": "x"}, Setting[int]{Value: 10}, Setting[bool]{}, Setting[string]{Value: "A"}, nil},
		{"invalid ones block only themselves",
			map[string]string{"lb.example.com/limit": "101", "lb.example.com/proxy": "maybe", "lb.example.com/policy": "B"},
			Setting[int]{Value: 10, Invalid: true}, Setting[bool]{Invalid: true}, Setting[string]{Value: "B"},
			[]string{
				`annotation lb.example.com/limit: "101" is not a whole number of connections from 1 to 100`,
				`annotation lb.example.com/proxy: "maybe" is not true or false`,
			}},
		{"an empty value is none of those allowed", map[string]string{"lb.example.com/proxy": " "}, Setting[int]{Value: 10}, Setting[bool]{Invalid: true}, Setting[string]{Value: "A"},
			[]string{`annotation lb.example.com/proxy: " " is not true or false`}},
		{"no value", map[string]string{"lb.example.com/limit": ""}, Setting[int]{Value: 10, Invalid: true}, Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{`annotation lb.example.com/limit: "" is not a whole number of connections from 1 to 100`}},
		{"enum is exact", map[string]string{"lb.example.com/policy": "b"}, Setting[int]{Value: 10}, Setting[bool]{}, Setting[string]{Value: "A", Invalid: true},
			[]string{`annotation lb.example.com/policy: "b" is not one of A, B`}},
		{"misspelt name", map[string]string{"lb.example.com/limmit": "3"}, Setting[int]{Value: 10}, Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{"annotation lb.example.com/limmit: is not known and has no effect; did you mean lb.example.com/limit?"}},
		{"unknown name", map[string]string{"lb.example.com/certificates": "3"}, Setting[int]{Value: 10}, Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{"annotation lb.example.com/certificates: is not known and has no effect; known are limit, policy, proxy"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newKeys()
			values, problems := k.registry.Parse(tt.annotations)
			var lines []string
			for _, p := range problems {
				lines = append(lines, p.String())
			}
			if diff := cmp.Diff(tt.problems, lines); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if got := k.limit.From(values); got != tt.limit {
				t.Errorf("limit = %+v, want %+v", got, tt.limit)
			}
			if got := k.proxy.From(values); got != tt.proxy {
				t.Errorf("proxy = %+v, want %+v", got, tt.proxy)
			}
			if got := k.policy.From(values); got != tt.policy {
				t.Errorf("policy = %+v, want %+v", got, tt.policy)
			}
		})
	}
}

func TestReservedNamesAreNotUnknown(t *testing.T) {
	k := newKeys()
	k.registry.Reserve("acl-")
	_, problems := k.registry.Parse(map[string]string{"lb.example.com/acl-sources": "10.0.0.0/8"})
	want := "annotation lb.example.com/acl-sources: is not applied by this version yet; what the load balancer already has in this respect stays as it is"
	if len(problems) != 1 || problems[0].String() != want {
		t.Errorf("problems = %v, want %s", problems, want)
	}
}

// TestReservedNamesAreWhole: what only begins like one is a mistake, and the whole name is suggested.
func TestReservedNamesAreWhole(t *testing.T) {
	k := newKeys()
	k.registry.Reserve("internal", "acl-port-")
	for name, want := range map[string]string{
		"internal": "is not applied by this version yet", "acl-port-http": "is not applied by this version yet",
		"internall": "did you mean lb.example.com/internal?", "acl-port-": "is not known", "acl-port": "is not known", "internal-x": "is not known",
	} {
		_, problems := k.registry.Parse(map[string]string{"lb.example.com/" + name: "x"})
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: problems %v, want one with %q", name, problems, want)
		}
	}
}

func TestSettingOver(t *testing.T) {
	if got := (Setting[int]{Value: 10}).Over(7); got != 10 {
		t.Errorf("a valid setting must win over the observed value, got %d", got)
	}
	if got := (Setting[int]{Value: 10, Invalid: true}).Over(7); got != 7 {
		t.Errorf("an invalid setting must keep the observed value, got %d", got)
	}
}

func TestEntries(t *testing.T) {
	want := []Entry{
		{Definition{Name: "limit", Effect: "Limits."}, "a whole number of connections from 1 to 100", "10"},
		{Definition{Name: "policy", Effect: "Chooses."}, "one of A, B", "A"},
		{Definition{Name: "proxy", Effect: "Proxies."}, "true or false", "false"},
	}
	if diff := cmp.Diff(want, newKeys().registry.Entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestConditions pins the text of the conditions; that they mean the same as Parse is for an API server to tell.
func TestConditions(t *testing.T) {
	want := map[string]string{
		"limit":  `x.matches("^[+-]?0*[0-9]{1,3}$") && int(x) >= 1 && int(x) <= 100`,
		"proxy":  `x in ["true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1", "0"]`,
		"policy": `x in ["A", "B"]`,
	}
	registry := newKeys().registry
	for name, condition := range want {
		if got := registry.Condition(name, "x"); got != condition {
			t.Errorf("%s: %s, want %s", name, got, condition)
		}
	}
}

// TestConditionOfWords: quotes and backslashes end no string early.
func TestConditionOfWords(t *testing.T) {
	if got, want := Enum(`a"b\c`).Condition("x"), `x in ["a\"b\\c"]`; got != want {
		t.Errorf("condition %s, want %s", got, want)
	}
}

// TestConditionOfNegativeNumbers: the longer end of the range decides how many digits there may be.
func TestConditionOfNegativeNumbers(t *testing.T) {
	want := `x.matches("^[+-]?0*[0-9]{1,2}$") && int(x) >= -10 && int(x) <= 5`
	if got := Int(-10, 5, "").Condition("x"); got != want {
		t.Errorf("condition %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("lb.example.com/limit", "7")
	f.Add("lb.example.com/", "")
	f.Fuzz(func(t *testing.T, name, value string) {
		k := newKeys()
		values, _ := k.registry.Parse(map[string]string{name: value})
		if got := k.limit.From(values).Value; got < 1 || got > 100 {
			t.Errorf("limit = %d, outside its range", got)
		}
	})
}
