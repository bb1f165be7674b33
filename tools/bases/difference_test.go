package bases

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

func TestMapSteps(t *testing.T) {
	for name, test := range map[string]struct {
		from, to string
		want     []step
	}{
		"nothing":    {`{"a": {"b": [1]}}`, `{"a": {"b": [1]}}`, nil},
		"a new key":  {`{}`, `{"a": {"b": 1}}`, []step{{"add", "/a", map[string]any{"b": 1.0}}}},
		"an old key": {`{"a": 1}`, `{}`, []step{{"remove", "/a", nil}}},
		"a value": {
			`{"spec": {"replicas": 1}}`, `{"spec": {"replicas": 2}}`,
			[]step{{"test", "/spec/replicas", 1.0}, {"replace", "/spec/replicas", 2.0}},
		},
		"a key with a slash and a tilde": {
			`{"labels": {}}`, `{"labels": {"example.com/a~b": "c"}}`, []step{{"add", "/labels/example.com~1a~0b", "c"}},
		},
		"a longer list, wherever it has grown": {
			`{"args": ["--a", "--c"]}`, `{"args": ["--a", "--b", "--c", "--d"]}`,
			[]step{{"add", "/args/-", "--b"}, {"add", "/args/-", "--d"}},
		},
		"an item with a name": {
			`{"containers": [{"name": "x"}, {"name": "y", "a": 1}]}`, `{"containers": [{"name": "x"}, {"name": "y", "a": 1, "b": 2}, {"name": "z"}]}`,
			[]step{{"add", "/containers/1/b", 2.0}, {"add", "/containers/-", map[string]any{"name": "z"}}},
		},
		"an item without a name": {
			`{"rules": [{"verbs": ["get"]}]}`, `{"rules": [{"verbs": ["get", "list"]}]}`,
			[]step{
				{"test", "/rules", []any{map[string]any{"verbs": []any{"get"}}}},
				{"replace", "/rules", []any{map[string]any{"verbs": []any{"get", "list"}}}},
			},
		},
		"a shorter list": {
			`{"args": ["--a", "--b"]}`, `{"args": ["--a"]}`,
			[]step{{"test", "/args", []any{"--a", "--b"}}, {"replace", "/args", []any{"--a"}}},
		},
		"an item with a name is gone": {
			`{"volumes": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}`, `{"volumes": [{"name": "a", "x": 1}, {"name": "d"}]}`,
			[]step{
				{"add", "/volumes/0/x", 1.0},
				{"test", "/volumes/2/name", "c"}, {Operation: "remove", Path: "/volumes/2"},
				{"test", "/volumes/1/name", "b"}, {Operation: "remove", Path: "/volumes/1"},
				{"add", "/volumes/-", map[string]any{"name": "d"}},
			},
		},
		"an endpoint of a monitor": {
			`{"endpoints": [{"port": "metrics", "path": "/metrics", "insecure": true}]}`, `{"endpoints": [{"port": "metrics", "path": "/metrics"}]}`,
			[]step{{Operation: "remove", Path: "/endpoints/0/insecure"}},
		},
		"another type": {
			`{"a": {"b": 1}}`, `{"a": [1]}`, []step{{"test", "/a", map[string]any{"b": 1.0}}, {"replace", "/a", []any{1.0}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mapSteps("", content(t, test.from), content(t, test.to))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

const (
	set    = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: ccm}\nspec: {updateStrategy: {type: OnDelete}}\n"
	budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: ccm}\n"
)

func manifest(t *testing.T, documents ...string) []object {
	t.Helper()
	objects, err := parse(strings.Join(documents, "---\n"))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestCompare: one kind of workload becomes the other in its place, so that what other components changed in it stays.
func TestCompare(t *testing.T) {
	deployment := strings.NewReplacer("DaemonSet", "Deployment", "updateStrategy", "strategy").Replace(set)
	d, err := compare(manifest(t, set), manifest(t, deployment, budget))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.added) != 1 || d.added[0].GetKind() != "PodDisruptionBudget" {
		t.Errorf("added %v", d.added)
	}
	want := []patch{{target{"DaemonSet|Deployment", "ccm"}, `- op: test
  path: /kind
  value: DaemonSet
- op: replace
  path: /kind
  value: Deployment
- op: add
  path: /spec/strategy
  value:
    type: OnDelete
- op: remove
  path: /spec/updateStrategy
`}}
	if diff := cmp.Diff(want, d.patches); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
}

// TestReplacedListsKeepTheirComments, and what is replaced needs none.
func TestReplacedListsKeepTheirComments(t *testing.T) {
	role := func(rules string) string {
		return "apiVersion: v1\nkind: ClusterRole\nmetadata:\n  name: ccm\nrules:\n" + rules
	}
	d, err := compare(manifest(t, role("# Why.\n- verbs: [get]\n")), manifest(t, role("# Why one.\n- verbs: [get, list]\n# Why two.\n- verbs: [patch]\n")))
	if err != nil {
		t.Fatal(err)
	}
	want := []patch{{target{"ClusterRole", "ccm"}, `- op: test
  path: /rules
  value:
  - verbs:
    - get
- op: replace
  path: /rules
  value:
  # Why one.
  - verbs: [get, list]
  # Why two.
  - verbs: [patch]
`}}
	if diff := cmp.Diff(want, d.patches); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}
}

func TestCompareRefusesLosses(t *testing.T) {
	_, err := compare(manifest(t, set, budget), manifest(t, set))
	if err == nil || !strings.Contains(err.Error(), "PodDisruptionBudget ccm is gone, which a component cannot say") {
		t.Errorf("got %v", err)
	}
}

// TestComponentsForSeveralProfilesAreOne: a folder cannot hold two.
func TestComponentsForSeveralProfilesAreOne(t *testing.T) {
	c := Component{Name: "monitoring-managed-tenant", Profiles: map[string][]string{"self-managed": nil, "managed-tenant": nil}}
	if files, err := c.files(t.Context(), repotest.Root(t)); err != nil || len(files) != 4 {
		t.Errorf("the same in both: %d files, %v", len(files), err)
	}
	c = Component{Name: "deployment", Profiles: map[string][]string{"self-managed": nil, "managed": nil}}
	if _, err := c.files(t.Context(), repotest.Root(t)); err == nil || !strings.Contains(err.Error(), "make two components of it") {
		t.Errorf("another in each: %v", err)
	}
}
