package annotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		{"all set", map[string]string{"lb.example.com/limit": "7", "lb.example.com/proxy": "true",
			"lb.example.com/policy": "B"},
			Setting[int]{Value: 7, Given: true}, Setting[bool]{Value: true, Given: true},
			Setting[string]{Value: "B", Given: true}, nil},
		{"spaces around a value", map[string]string{"lb.example.com/limit": " 7 "}, Setting[int]{Value: 7, Given: true},
			Setting[bool]{}, Setting[string]{Value: "A"}, nil},
		{"foreign annotations are ignored", map[string]string{"other.example.com/limit": "x"}, Setting[int]{Value: 10},
			Setting[bool]{}, Setting[string]{Value: "A"}, nil},
		{"invalid ones block only themselves",
			map[string]string{"lb.example.com/limit": "101", "lb.example.com/proxy": "maybe",
				"lb.example.com/policy": "B"},
			Setting[int]{Value: 10, Invalid: true}, Setting[bool]{Invalid: true},
			Setting[string]{Value: "B", Given: true},
			[]string{
				`annotation lb.example.com/limit: "101" is not a whole number of connections from 1 to 100`,
				`annotation lb.example.com/proxy: "maybe" is not true or false`,
			}},
		{"an empty value is none of those allowed", map[string]string{"lb.example.com/proxy": " "},
			Setting[int]{Value: 10}, Setting[bool]{Invalid: true}, Setting[string]{Value: "A"},
			[]string{`annotation lb.example.com/proxy: " " is not true or false`}},
		{"no value", map[string]string{"lb.example.com/limit": ""}, Setting[int]{Value: 10, Invalid: true},
			Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{`annotation lb.example.com/limit: "" is not a whole number of connections from 1 to 100`}},
		{"enum is exact", map[string]string{"lb.example.com/policy": "b"}, Setting[int]{Value: 10}, Setting[bool]{},
			Setting[string]{Value: "A", Invalid: true},
			[]string{`annotation lb.example.com/policy: "b" is not one of A, B`}},
		{"misspelt name", map[string]string{"lb.example.com/limmit": "3"}, Setting[int]{Value: 10, Invalid: true},
			Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{"annotation lb.example.com/limmit: is not known and has no effect; did you mean " +
				"lb.example.com/limit?"}},
		{"unknown name", map[string]string{"lb.example.com/certificates": "3"}, Setting[int]{Value: 10},
			Setting[bool]{}, Setting[string]{Value: "A"},
			[]string{"annotation lb.example.com/certificates: is not known and has no effect; known are acl-<port>, " +
				"limit, name, policy, proxy"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newKeys()
			values, problems := k.registry.Parse(tt.annotations, nil)
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

// FuzzParse: whatever is read, values are in their range and what is not used is reported.
func FuzzParse(f *testing.F) {
	f.Add("lb.example.com/limit", "7", "http", int32(80))
	f.Add("lb.example.com/", "", "", int32(0))
	f.Add("lb.example.com/limit.http", "x", "http", int32(80))
	f.Add("lb.example.com/acl-80", "all", "80", int32(443))
	f.Add("lb.example.com/acl-.", "all", "", int32(-1))
	f.Fuzz(func(t *testing.T, name, value, portName string, number int32) {
		k, port := newKeys(), Port{portName, number}
		k.registry.Decline(Declined{Name: "tls-", Why: "cannot be had"})
		values, problems := k.registry.Parse(map[string]string{name: value}, []Port{port})
		for _, limit := range []Setting[int]{k.limit.From(values), k.limit.For(values, port)} {
			if limit.Value < 1 || limit.Value > 100 || limit.Given && limit.Invalid || limit.Invalid &&
				len(problems) == 0 {
				t.Errorf("limit %+v, problems %v", limit, problems)
			}
		}
		if len(problems) > 1 || len(problems) == 1 && (problems[0].Annotation != name || problems[0].Value != value ||
			problems[0].Want == "") {
			t.Errorf("problems %+v", problems)
		}
	})
}
