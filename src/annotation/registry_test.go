package annotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type keys struct {
	registry *Registry
	limit    Key[int]
	proxy    Key[bool]
	policy   Key[string]
	name     Key[string]
	acl      Family[string]
}

func newKeys() keys {
	registry := NewRegistry("lb.example.com/")
	return keys{
		registry: registry,
		limit: Register(registry, Definition{Name: "limit", Effect: "Limits.", PerPort: true},
			Int(1, 100, "connections"), 10),
		proxy:  Register(registry, Definition{Name: "proxy", Effect: "Proxies."}, Bool(), false),
		policy: Register(registry, Definition{Name: "policy", Effect: "Chooses."}, Enum("A", "B"), "A"),
		name: Register(registry, Definition{Name: "name", Effect: "Names.", Without: "ours", OneService: true},
			Word("[a-z]+", "letters"), ""),
		acl: RegisterFamily(registry, Definition{Name: "acl-", Effect: "Allows.", PerPort: true},
			Enum("all", "some")),
	}
}

func TestEntries(t *testing.T) {
	want := []Entry{
		{Definition{Name: "acl-", Effect: "Allows.", OneService: true}, "one of all, some", "",
			map[string]any{"enum": []string{"all", "some"}}},
		{Definition{Name: "limit", Effect: "Limits.", PerPort: true}, "a whole number of connections from 1 to 100",
			"10",
			map[string]any{"pattern": "^[+-]?0*[0-9]{1,3}$"}},
		{Definition{Name: "name", Effect: "Names.", Without: "ours", OneService: true}, "letters", "",
			map[string]any{"pattern": "^(?:[a-z]+)$"}},
		{Definition{Name: "policy", Effect: "Chooses."}, "one of A, B", "A",
			map[string]any{"enum": []string{"A", "B"}}},
		{Definition{Name: "proxy", Effect: "Proxies."}, "true or false", "false",
			map[string]any{"enum": []string{"true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1",
				"0"}}},
	}
	if diff := cmp.Diff(want, newKeys().registry.Entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
