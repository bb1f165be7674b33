package annotation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ports are those of a Service with one number twice, and a name that is another port's number.
func ports() []Port {
	return []Port{{"http", 80}, {"dns", 53}, {"dns-tcp", 53}, {"443", 8443}, {"", 9000}}
}

func TestFor(t *testing.T) {
	valid := func(value int) Setting[int] { return Setting[int]{Value: value, Given: true} }
	const prefix = "lb.example.com/limit"
	for _, tt := range []struct {
		name        string
		annotations map[string]string
		port        Port
		want        Setting[int]
	}{
		{"nothing", nil, Port{"http", 80}, Setting[int]{Value: 10}},
		{"the plain one", map[string]string{prefix: "3"}, Port{"http", 80}, valid(3)},
		{"the number", map[string]string{prefix: "3", prefix + ".80": "4"}, Port{"http", 80}, valid(4)},
		{"the name", map[string]string{prefix: "3", prefix + ".80": "4", prefix + ".http": "5"}, Port{"http", 80},
			valid(5)},
		{"another port's", map[string]string{prefix + ".http": "5"}, Port{"dns", 53}, Setting[int]{Value: 10}},
		{"one number, two ports", map[string]string{prefix + ".53": "6"}, Port{"dns-tcp", 53}, valid(6)},
		{"no name", map[string]string{prefix + ".9000": "7"}, Port{"", 9000}, valid(7)},
		{"a name that is a number", map[string]string{prefix + ".443": "8", prefix + ".8443": "9"}, Port{"443", 8443},
			valid(8)},
		{"an invalid one gives way to none", map[string]string{prefix: "3", prefix + ".80": "4", prefix + ".http": "x"},
			Port{"http", 80}, Setting[int]{Value: 10, Invalid: true}},
		{"an invalid one that does not count", map[string]string{prefix + ".80": "x", prefix + ".http": "5"},
			Port{"http", 80}, valid(5)},
		{"an invalid plain one", map[string]string{prefix: "x"}, Port{"http", 80},
			Setting[int]{Value: 10, Invalid: true}},
	} {
		k := newKeys()
		values, _ := k.registry.Parse(tt.annotations, ports())
		if got := k.limit.For(values, tt.port); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestFamily(t *testing.T) {
	all := Setting[string]{Value: "all", Given: true}
	for _, tt := range []struct {
		annotations map[string]string
		port        Port
		want        []Setting[string]
	}{
		{nil, Port{"http", 80}, nil},
		{map[string]string{"lb.example.com/acl-http": "all"}, Port{"http", 80}, []Setting[string]{all}},
		{map[string]string{"lb.example.com/acl-http": "all"}, Port{"dns", 53}, nil},
		{map[string]string{"lb.example.com/acl-http": "some", "lb.example.com/acl-80": "all"}, Port{"http", 80},
			[]Setting[string]{{Value: "some", Given: true}, all}},
		{map[string]string{"lb.example.com/acl-http": "none", "lb.example.com/acl-80": "all"}, Port{"http", 80},
			[]Setting[string]{{Invalid: true}, all}},
		{map[string]string{"lb.example.com/acl-dns-tcp": "all"}, Port{"dns-tcp", 53}, []Setting[string]{all}},
		{map[string]string{"lb.example.com/acl-9000": "all"}, Port{"", 9000}, []Setting[string]{all}},
		{map[string]string{"lb.example.com/acl-443": "all"}, Port{"443", 443}, []Setting[string]{all}},
	} {
		k := newKeys()
		values, _ := k.registry.Parse(tt.annotations, append(ports(), Port{"443", 443}))
		if diff := cmp.Diff(tt.want, k.acl.For(values, tt.port)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.annotations, diff)
		}
	}
}

// TestNamesOfAnnotations: whatever is wrong with a name, what was meant is near.
func TestNamesOfAnnotations(t *testing.T) {
	k := newKeys()
	k.registry.Decline(Declined{Name: "tls-", Why: "cannot be had: use a proxy"})
	k.registry.Decline(Declined{Name: "class", Why: "has no effect"})
	const has = "is for a port that the Service does not have; it has http (80), dns (53), dns-tcp (53), 443 (8443), " +
		"9000"
	for name, want := range map[string]string{
		"limit.http": "", "limit.53": "", "limit.443": "", "acl-http": "", "acl-dns-tcp": "",
		"limit.nowhere": has, "acl-nowhere": has,
		"limit.http.x":   "is for a port that the Service does not have; did you mean lb.example.com/limit.http?",
		"limit.htpp":     "is for a port that the Service does not have; did you mean lb.example.com/limit.http?",
		"acl-htpp":       "is for a port that the Service does not have; did you mean lb.example.com/acl-http?",
		"limmit.http":    "is not known and has no effect; did you mean lb.example.com/limit.http?",
		"limmit.nowhere": "is not known and has no effect; did you mean lb.example.com/limit.nowhere?",
		"alc-http":       "is not known and has no effect; did you mean lb.example.com/acl-http?",
		"polcy":          "is not known and has no effect; did you mean lb.example.com/policy?",
		"policy.http": "is for one port, but lb.example.com/policy holds for the whole Service; write it without " +
			".http",
		"tls-ports": "cannot be had: use a proxy", "tls-ports.http": "cannot be had: use a proxy",
		"class":              "has no effect",
		"tls-":               "is not known and has no effect; known are acl-<port>, limit, name, policy, proxy",
		"acl-":               "is not known and has no effect; did you mean lb.example.com/acl-80?",
		"acl-.http":          "is for a port that the Service does not have; did you mean lb.example.com/acl-http?",
		"somethingelse":      "is not known and has no effect; known are acl-<port>, limit, name, policy, proxy",
		"somethingelse.http": "is not known and has no effect; known are acl-<port>, limit, name, policy, proxy",
	} {
		value := "5"
		if strings.HasPrefix(name, "acl") {
			value = "all"
		}
		_, problems := k.registry.Parse(map[string]string{"lb.example.com/" + name: value}, ports())
		var got string
		for _, problem := range problems {
			got += strings.TrimPrefix(problem.String(), "annotation lb.example.com/"+name+": ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestManyPorts: not all of them fit into an event.
func TestManyPorts(t *testing.T) {
	many := make([]Port, 0, 30)
	for i := range int32(30) {
		many = append(many, Port{fmt.Sprintf("p%d", i), 8000 + i})
	}
	for _, tt := range []struct {
		ports []Port
		want  string
	}{{many, "p19 (8019), and 10 more"}, {many[:20], "p18 (8018), p19 (8019)"}, {nil, "it has no ports"}} {
		_, problems := newKeys().registry.Parse(map[string]string{"lb.example.com/limit.nowhere": "1"}, tt.ports)
		if len(problems) != 1 || !strings.HasSuffix(problems[0].Want, tt.want) {
			t.Errorf("%d ports: %v, want one that ends in %s", len(tt.ports), problems, tt.want)
		}
	}
}

func TestSetDefaults(t *testing.T) {
	k := newKeys()
	k.registry.Decline(Declined{Name: "tls-", Why: "cannot be had"})
	problems := k.registry.SetDefaults(map[string]string{
		"limit": " 42 ", "proxy": "maybe", "limmit": "1", "limit.http": "1", "name": "x", "acl-http": "all",
		"lb.example.com/policy": "B", "tls-x": "y", "somethingelse": "",
	})
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.String())
	}
	want := []string{
		"annotation acl-http: is about one Service and cannot have a default for all of them",
		"annotation lb.example.com/policy: is written without lb.example.com/ here",
		"annotation limit.http: is for one port, and ports differ between Services; write limit",
		"annotation limmit: is not known; did you mean limit?",
		"annotation name: is about one Service and cannot have a default for all of them",
		`annotation proxy: "maybe" is not true or false`,
		"annotation somethingelse: is not known; there are defaults for limit, policy, proxy",
		"annotation tls-x: cannot be had",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	values, _ := k.registry.Parse(map[string]string{"lb.example.com/limit.http": "7"}, ports())
	for name, got := range map[string]Setting[int]{"from": k.limit.From(values),
		"for": k.limit.For(values, Port{"dns", 53})} {
		if got != (Setting[int]{Value: 42, Configured: true}) {
			t.Errorf("%s: %+v, want the default that was set, not given", name, got)
		}
	}
	if got := k.limit.For(values, Port{"http", 80}); got != (Setting[int]{Value: 7, Given: true}) {
		t.Errorf("what the Service says loses to the default: %+v", got)
	}
	if k.limit.Default() != 42 || k.registry.Entries()[1].Default != "10" {
		t.Errorf("defaults %d, and %s on the page", k.limit.Default(), k.registry.Entries()[1].Default)
	}
}

func TestDefaultsSchema(t *testing.T) {
	schema := newKeys().registry.DefaultsSchema()
	properties, _ := schema["properties"].(map[string]any)
	want := map[string]any{
		"type": "string", "pattern": "^[+-]?0*[0-9]{1,3}$",
		"description": "Limits. Allowed: a whole number of connections from 1 to 100.", "examples": []string{""},
	}
	if diff := cmp.Diff(want, properties["limit"]); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
	if properties["policy"] == nil || properties["name"] != nil || properties["acl-"] != nil ||
		schema["additionalProperties"] != false {
		t.Errorf("schema %v", schema)
	}
}

// FuzzDefaults: whatever a configuration says, it is a default or reported.
func FuzzDefaults(f *testing.F) {
	f.Add("limit", "5")
	f.Add("limit.80", "")
	f.Fuzz(func(t *testing.T, name, value string) {
		k := newKeys()
		problems := k.registry.SetDefaults(map[string]string{name: value})
		changed := k.limit.Default() != 10 || k.proxy.Default() || k.policy.Default() != "A"
		if len(problems) > 1 || changed && len(problems) > 0 || k.limit.Default() < 1 || k.limit.Default() > 100 {
			t.Errorf("%q = %q: problems %v", name, value, problems)
		}
	})
}
