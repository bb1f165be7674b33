package faulttest

import (
	"strings"
	"testing"
)

// cloudOf is a state with one list, made of JSON.
func cloudOf(t *testing.T, list string) state {
	t.Helper()
	found, err := objects([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return state{"things": found}
}

// Identities of two runs of the same work.
const (
	first  = "lb-aaaaaaaaaaaaaaaaaaaa"
	second = "lb-bbbbbbbbbbbbbbbbbbbb"
	group  = "tg-aaaaaaaaaaaaaaaaaaaa"
	vm     = "vm-aaaaaaaaaaaaaaaaaaaa"
)

// ending is an outcome that compares before with after; what is in theirs is foreign.
func ending(t *testing.T, before, after string, theirs ...string) outcome {
	t.Helper()
	foreign := map[string]bool{}
	for _, id := range theirs {
		foreign[id] = true
	}
	var o outcome
	o.compare(cloudOf(t, before), cloudOf(t, after), foreign, false)
	return o
}

func TestWhatDiffersBetweenGoodRunsIsNoDifference(t *testing.T) {
	one := ending(t, `[]`,
		`[{"identity": "`+first+
			`", "name": "a", "slug": "a", "createdAt": "2000-01-01T00:00:00Z", "objectVersion": 1, "ips": ["10.0.0.1"], "host": "`+first+`.example"},
		{"identity": "`+group+`", "name": "g", "uses": [{"identity": "`+first+`"}]}]`)
	other := ending(t, `[]`,
		`[{"identity": "tg-cccccccccccccccccccc", "name": "g", "uses": [{"identity": "`+second+`"}]},
		{"identity": "`+second+
			`", "name": "a", "slug": "a-2", "createdAt": "2001-01-01T00:00:00Z", "objectVersion": 7, "ips": ["10.0.0.9"], "host": "`+second+`.example"}]`)
	if x, y := one.state["things"], other.state["things"]; x != y || x == "" {
		t.Errorf("states differ:\n%s\n%s", x, y)
	}
}

func TestDifferences(t *testing.T) {
	const old = `[{"identity": "` + first + `", "name": "a", "ips": ["10.0.0.1"]}]`
	undisturbed := ending(t, old, old)
	tests := map[string]string{
		"gone":            `[]`,
		"made anew":       `[{"identity": "` + second + `", "name": "a", "ips": ["10.0.0.1"]}]`,
		"another address": `[{"identity": "` + first + `", "name": "a", "ips": ["10.0.0.2"]}]`,
		"made twice": `[{"identity": "` + first + `", "name": "a", "ips": ["10.0.0.1"]}, {"identity": "` + second +
			`", "name": "a", "ips": ["10.0.0.1"]}]`,
		"another name":  `[{"identity": "` + first + `", "name": "b", "ips": ["10.0.0.1"]}]`,
		"another field": `[{"identity": "` + first + `", "name": "a", "ips": ["10.0.0.1"], "port": 80}]`,
	}
	for name, after := range tests {
		t.Run(name, func(t *testing.T) {
			problems := ending(t, old, after).problems(&undisturbed)
			if len(problems) != 1 || !strings.Contains(problems[0], "the cloud is not as after the undisturbed work") {
				t.Errorf("problems = %q, want that the cloud differs", problems)
			}
		})
	}
	if problems := ending(t, old, old).problems(&undisturbed); len(problems) != 0 {
		t.Errorf("problems without a difference: %q", problems)
	}
}

// TestReplaceableObjects: which of two that look the same is left makes no difference, how they look does.
func TestReplaceableObjects(t *testing.T) {
	const old = `[{"identity": "` + first + `", "name": "a"}]`
	compared := func(after string) string {
		var o outcome
		o.compare(cloudOf(t, old), cloudOf(t, after), nil, true)
		return o.state["things"]
	}
	if other := strings.ReplaceAll(old, first, second); compared(old) != compared(other) {
		t.Errorf("%s and %s differ", compared(old), compared(other))
	}
	if other := strings.ReplaceAll(old, `"a"`, `"b"`); compared(old) == compared(other) {
		t.Error("another name makes no difference")
	}
}

func TestForeignObjectsMustStayAsTheyAre(t *testing.T) {
	const old = `[{"identity": "` + vm + `", "name": "a", "objectVersion": 1, "v4usingIPs": 3}]`
	tests := map[string]struct {
		after string
		ok    bool
	}{
		"the same":     {old, true},
		"its usage":    {`[{"identity": "` + vm + `", "name": "a", "objectVersion": 1, "v4usingIPs": 4}]`, true},
		"touched":      {`[{"identity": "` + vm + `", "name": "a", "objectVersion": 2, "v4usingIPs": 3}]`, false},
		"gone":         {`[]`, false},
		"one more new": {strings.TrimSuffix(old, "]") + `, {"identity": "` + second + `", "name": "b"}]`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if o := ending(t, old, test.after, vm); (o.foreign == "") != test.ok {
				t.Errorf("difference = %q, want none: %v", o.foreign, test.ok)
			}
		})
	}
}

func TestForeignNames(t *testing.T) {
	const before = `[{"identity": "` + vm + `", "name": "worker"}]`
	o := ending(t, before,
		`[{"identity": "`+vm+`", "name": "worker"}, {"identity": "`+group+`", "name": "g", "machine": {"identity": "`+
			vm+`"}, "of": null, "n": 1, "on": true}]`, vm)
	if got := o.state["things"]; got !=
		`[{"identity":"new tg 1","machine":"their vm worker","n":1,"name":"g","of":null,"on":true}]` {
		t.Errorf("state = %s", got)
	}
}

func TestReplay(t *testing.T) {
	got := Scenario{}.replay("example.org/p", "TestCrash/a.b/after-03-GET_v1")
	if want := `go test -count=1 -run '^TestCrash$/^a\.b$/^after-03-GET_v1$' example.org/p`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOperation(t *testing.T) {
	c := call{method: "PUT", path: "/v1/loadbalancers/" + first + "/listeners/listener-aaaaaaaaaaaaaaaaaaaa"}
	if c.operation() != "PUT /v1/loadbalancers/ID/listeners/ID" || c.label() != "PUT_v1_loadbalancers_ID_listeners_ID" {
		t.Errorf("operation %q, label %q", c.operation(), c.label())
	}
}
