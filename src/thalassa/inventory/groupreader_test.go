package inventory

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client/jsonstream"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

func allGroups(g groupItem) (resource.TargetGroup, bool) { return g.object(), true }

// readGroup reads one item of a list.
func readGroup(text string) (resource.TargetGroup, error) {
	reading := groupReader{ours: allGroups, names: map[string]string{}}
	group, _, err := reading.read(jsonstream.NewReader(strings.NewReader(text)))
	return group, err
}

// FuzzGroupReader: the short way through a list comes to the same as the long one.
func FuzzGroupReader(f *testing.F) {
	for _, text := range []string{
		`{"identity":"tg-1","name":"a\"b","labels":{"a":"b"},"targetPort":80,"healthCheck":{"port":1},"loadbalancerTargetGroupAttachments":[
			{"identity":"tga-1","virtualMachineInstance":{"name":"x","identity":"vm-2","status":{"identity":"no"}}}, {"virtualMachineInstance":{"identity":"vm-1"}}]}`,
		`{"loadbalancerTargetGroupAttachments":null,"identity":"tg-1"}`,
		`{"loadbalancerTargetGroupAttachments":[{},null,{"virtualMachineInstance":null},{"virtualMachineInstance":{"identity":""}}]}`,
		`null`, `{}`, `{"Identity":"tg-1"}`, `{"identity":"a","identity":"b"}`, `{"identity":"\u00e9"}`, `[]`,
		`{"identity":7}`, `{"loadbalancerTargetGroupAttachments":[{"virtualMachineInstance":{"identity":7}}]}`,
		`{"loadbalancerTargetGroupAttachments":{}}`, `{"identity":"a"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var item groupItem
		wanted := json.NewDecoder(strings.NewReader(text)).Decode(&item)
		// encoding/json takes names in any case, and the last of several values, or parts of all. No cloud sends that
		// of attachments.
		if lower := strings.ToLower(text); strings.Count(lower, "attachments") != strings.Count(text,
			attachmentsField) || strings.Count(lower, "attachments") > 1 ||
			strings.Count(lower, "machine") != strings.Count(lower, `"virtualmachineinstance":{"identity":`) ||
			strings.Contains(text, "\\u") {
			return
		}
		got, err := readGroup(text)
		if (err == nil) != (wanted == nil) || (err == nil && !reflect.DeepEqual(got, item.object())) {
			t.Errorf("%s\n%+v, error %v\nwant\n%+v, error %v", text, got, err, item.object(), wanted)
		}
	})
}

func TestGroupReader(t *testing.T) {
	group, err := readGroup(`{"identity":"tg-1","name":"a\"b","labels":{"a":"b"},"targetPort":80,"healthCheck":{"port":1},"vpc":{"identity":"vpc-1"},"loadbalancerTargetGroupAttachments":[
		{"identity":"tga-1","virtualMachineInstance":{"name":"x","identity":"vm-2","status":{"identity":"no"}}}, {"virtualMachineInstance":{"identity":"vm-1"}},
		{}, null, {"virtualMachineInstance":null}, {"virtualMachineInstance":{"identity":""}}], "targetSelector":{"c":"d"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if group.ID != "tg-1" || group.Name != `a"b` || group.Labels["a"] != "b" || group.Port != 80 ||
		group.HealthCheck == nil || group.TargetSelector["c"] != "d" {
		t.Errorf("group %+v", group)
	}
	if machines := strings.Join(group.Machines, " "); machines != "vm-1 vm-2" {
		t.Errorf("machines %q, want them sorted", machines)
	}
}

// TestGroupsWithTheSameMachinesShareThem: a thousand groups with a thousand machines are a thousand texts, not a
// million.
func TestGroupsWithTheSameMachinesShareThem(t *testing.T) {
	const group = `{"identity":"tg","loadbalancerTargetGroupAttachments":[{"virtualMachineInstance":{"identity":"vm-2"}},{"virtualMachineInstance":{"identity":"vm-1"}}]}`
	reading, r := groupReader{ours: allGroups, names: map[string]string{}},
		jsonstream.NewReader(strings.NewReader(group+group))
	one, _, err := reading.read(r)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := reading.read(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(one.Machines) != 2 || &one.Machines[0] != &other.Machines[0] {
		t.Errorf("%q and %q are two sets", one.Machines, other.Machines)
	}
}
