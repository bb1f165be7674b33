package thalassa

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// dotted is the name of a Node that no slug can be equal to.
const dotted = "worker-1.example.com"

// withMachines adds machines by their identities and names.
func (l *lab) withMachines(names map[string]string) *lab {
	l.Helper()
	for id, name := range names {
		if _, err := l.emulator.AddMachine(emulator.MachineSpec{Identity: id, Name: name}); err != nil {
			l.Fatal(err)
		}
	}
	return l
}

// TestNodeNameWithADot: the machine of such a Node is the only one with exactly its name.
func TestNodeNameWithADot(t *testing.T) {
	l := newLab(t, emulator.Config{}).withMachines(map[string]string{"vm-1": dotted, "vm-2": "worker-1"})
	for node, machine := range map[string]string{dotted: "vm-1", "worker-1": "vm-2", "worker-1-example-com": "vm-1"} {
		got, err := l.cloud.machines.Find(t.Context(), named(node, ""), time.Time{})
		if err != nil || got.ProviderID != providerid.Of(machine) {
			t.Errorf("%s: machine %+v, error %v; want %s", node, got, err, machine)
		}
	}
	node := named(dotted, providerid.Of("vm-gone"))
	machines := l.cloud.machines
	if other, err := machines.NameConflict(t.Context(), node); err != nil || other != "vm-1" {
		t.Errorf("name conflict with %q, error %v; want vm-1", other, err)
	}
	if _, err := machines.Find(t.Context(), node, time.Time{}); err == nil || !strings.Contains(err.Error(),
		"the machine with the name "+dotted+" is vm-1 now") {
		t.Errorf("error %v about a Node whose machine was replaced", err)
	}
	node.Spec.ProviderID = providerid.Of("vm-1")
	members, err := l.cloud.routes.Members(t.Context(), []*corev1.Node{node})
	if err != nil || len(members) != 1 || !members[0].Confirmed {
		t.Errorf("members of the network %+v, error %v; want a confirmed one", members, err)
	}
}

// TestNearMissOfANodeName: the message names the machines that the Node may run on, and both ways out.
func TestNearMissOfANodeName(t *testing.T) {
	const set, give = "set spec.providerID of this Node to ", "the name of this Node, or "
	for name, tt := range map[string]struct {
		node     string
		machines map[string]string
		want     []string
	}{
		"short name": {dotted, map[string]string{"vm-1": "worker-1", "vm-2": "worker-10"},
			[]string{"no machine with the name " + dotted, "Machine vm-1 has the similar slug worker-1",
				"exactly " + give + set + providerid.Of("vm-1") + "."}},
		"other letters": {dotted, map[string]string{"vm-1": "Worker-1.Example.com"},
			[]string{"Machine vm-1 has the similar name Worker-1.Example.com", give + set + providerid.Of("vm-1")}},
		"other domain": {dotted, map[string]string{"vm-1": "worker-1.example.org"},
			[]string{"Machine vm-1 has the similar name worker-1.example.org"}},
		"without dots": {dotted, map[string]string{"vm-1": "worker-1-example-com"},
			[]string{"Machine vm-1 has the similar slug worker-1-example-com"}},
		"short name of the Node": {"worker-1", map[string]string{"vm-1": dotted},
			[]string{"no machine with the slug worker-1", "Machine vm-1 has the similar name " + dotted}},
		"several": {dotted, map[string]string{"vm-1": "worker-1", "vm-2": "worker-1.example.org"},
			[]string{"vm-1 (slug worker-1), vm-2 (name worker-1.example.org)",
				set + "thalassacloud://<machine identity>"}},
		"none": {dotted, map[string]string{"vm-1": "worker-2"},
			[]string{"no machine with the name " + dotted + ". Give the machine " + give + set}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, emulator.Config{}).withMachines(tt.machines)
			_, err := l.cloud.machines.Find(t.Context(), named(tt.node, ""), time.Time{})
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
		})
	}
}

// TestTwoMachinesOfOneDottedName: names need not be unique. Nobody guesses which of them the Node runs on.
func TestTwoMachinesOfOneDottedName(t *testing.T) {
	l := newLab(t, emulator.Config{}).withMachines(map[string]string{"vm-1": dotted, "vm-2": "other"})
	l.tap().shown = func(_ string, object map[string]any) {
		if object["identity"] == "vm-2" { // the emulator lets no two have the same slug in a VPC
			object["name"] = dotted
		}
	}
	_, err := l.cloud.machines.Find(t.Context(), named(dotted, ""), time.Time{})
	if err == nil || !strings.Contains(err.Error(), "2 machines of VPC "+emulator.DefaultVPC+" have the name "+dotted) {
		t.Errorf("error %v", err)
	}
}
