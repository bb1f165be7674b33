package bases

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// difference is what changes between two renders of the chart.
type difference struct {
	added   []object
	patches []patch
}

// patch is an entry of a kustomization's patches: a JSON patch for one object.
type patch struct {
	Target target `yaml:"target"`
	Patch  string `yaml:"patch"`
}

type target struct {
	Kind string `yaml:"kind"`
	Name string `yaml:"name"`
}

// step is one operation of a JSON patch (RFC 6902).
type step struct {
	Operation string `yaml:"op"`
	Path      string `yaml:"path"`
	Value     any    `yaml:"value,omitempty"`
}

// workloads are the kinds that stand for each other: a component may change one into the other.
func workloads() []string { return []string{"DaemonSet", "Deployment"} }

// compare finds what after has and before has not. That something is gone cannot be said by a component, and no value needs it.
func compare(before, after []object) (difference, error) {
	old := map[string]object{}
	for _, o := range before {
		old[o.identity()] = o
	}
	var d difference
	for _, o := range after {
		was, has := old[o.identity()]
		delete(old, o.identity())
		if !has {
			d.added = append(d.added, o)
			continue
		}
		p, err := change(was, o)
		if err != nil {
			return difference{}, fmt.Errorf("comparing %s: %w", o.identity(), err)
		}
		if p.Patch != "" {
			d.patches = append(d.patches, p)
		}
	}
	for identity := range old {
		return difference{}, fmt.Errorf("%s is gone, which a component cannot say", identity)
	}
	return d, nil
}

// identity is the same for both kinds of workload.
func (o object) identity() string {
	kind := o.GetKind()
	if slices.Contains(workloads(), kind) {
		kind = strings.Join(workloads(), "|")
	}
	return kind + " " + o.GetName()
}

// change is the patch that makes one object of another; it is empty when they are equal.
func change(was, is object) (patch, error) {
	from, err := was.content()
	if err != nil {
		return patch{}, err
	}
	to, err := is.content()
	if err != nil {
		return patch{}, err
	}
	steps := mapSteps("", from, to)
	if len(steps) == 0 {
		return patch{}, nil
	}
	if err := is.comment(steps); err != nil {
		return patch{}, err
	}
	text, err := yaml.Marshal(steps)
	if err != nil {
		return patch{}, fmt.Errorf("encoding the patch: %w", err)
	}
	kind, _, _ := strings.Cut(is.identity(), " ")
	return patch{target{Kind: kind, Name: is.GetName()}, string(text)}, nil
}

// comment gives lists and maps that replace others the comments they have in the object, which JSON knows nothing of: the chart says
// of every permission why it is there.
func (o object) comment(steps []step) error {
	for i, s := range steps {
		if s.Operation != "replace" {
			continue
		}
		var fields []string
		for field := range strings.SplitSeq(strings.TrimPrefix(s.Path, "/"), "/") {
			fields = append(fields, strings.NewReplacer("~1", "/", "~0", "~").Replace(field))
		}
		node, err := o.Pipe(yaml.Lookup(fields...))
		if err != nil {
			return fmt.Errorf("finding %s: %w", s.Path, err)
		}
		if node != nil && node.YNode().Kind != yaml.ScalarNode {
			steps[i].Value = node.YNode()
		}
	}
	return nil
}

// content is the object as JSON has it.
func (o object) content() (map[string]any, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.identity(), err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.identity(), err)
	}
	return content, nil
}

// mapSteps compares two maps, key by key in their order.
func mapSteps(at string, from, to map[string]any) []step {
	keys := slices.Sorted(maps.Keys(from))
	for key := range to {
		if _, both := from[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var steps []step
	for _, key := range keys {
		steps = append(steps, keySteps(at+"/"+escape(key), from, to, key)...)
	}
	return steps
}

func keySteps(at string, from, to map[string]any, key string) []step {
	old, was := from[key]
	value, is := to[key]
	switch {
	case !is:
		return []step{{Operation: "remove", Path: at}}
	case !was:
		return []step{{"add", at, value}}
	case reflect.DeepEqual(old, value):
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		if old, ok := old.(map[string]any); ok {
			return mapSteps(at, old, value)
		}
	case []any:
		if old, ok := old.([]any); ok && grown(old, value) {
			return listSteps(at, old, value)
		}
	}
	// The test makes it an error to use a component with something else than it was made for, and two that change the same.
	return []step{{"test", at, old}, {"replace", at, value}}
}

// grown tells whether a list still has every item it had, as it was or by its name. Items with a name may be gone.
func grown(from, to []any) bool {
	return !slices.ContainsFunc(from, func(old any) bool {
		return name(old) == "" && !slices.ContainsFunc(to, func(value any) bool { return same(old, value) })
	})
}

// same tells whether two items of lists are one, which has changed perhaps.
func same(old, value any) bool {
	return reflect.DeepEqual(old, value) || name(value) != "" && name(value) == name(old)
}

// listSteps appends what is new, wherever it is in the list: indices would be others once two components change the same list, and
// lists of a pod have no order. Items with a name may change inside.
func listSteps(at string, from, to []any) []step {
	var steps, removals []step
	for i, old := range from {
		j := slices.IndexFunc(to, func(value any) bool { return same(old, value) })
		if j < 0 {
			item := fmt.Sprintf("%s/%d", at, i)
			removal := []step{{"test", item + "/name", name(old)}, {Operation: "remove", Path: item}}
			removals = append(removal, removals...) // the last first: a removal changes the indices of those after it
			continue
		}
		if fields, ok := old.(map[string]any); ok && !reflect.DeepEqual(old, to[j]) {
			steps = append(steps, mapSteps(fmt.Sprintf("%s/%d", at, i), fields, to[j].(map[string]any))...)
		}
	}
	steps = append(steps, removals...)
	for _, value := range to {
		if !slices.ContainsFunc(from, func(old any) bool { return same(old, value) }) {
			steps = append(steps, step{"add", at + "/-", value})
		}
	}
	return steps
}

// name is that of a list's item, such as a container's, and port and path of a monitor's endpoint; it is empty for other items.
func name(item any) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return ""
	}
	if text, _ := fields["name"].(string); text != "" {
		return text
	}
	port, _ := fields["port"].(string)
	path, _ := fields["path"].(string)
	if port == "" || path == "" {
		return ""
	}
	return port + path
}

// escape makes a key a part of a path (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
