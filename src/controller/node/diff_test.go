package node

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const (
	testDomain   = "example.com"
	testRecord   = testDomain + "/applied"
	testChecksum = "node-restriction.kubernetes.io/example-com-applied"
)

// wasSet writes the last-applied record of a Node, as the controller does.
func wasSet(node *corev1.Node, text string) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[testChecksum], node.Annotations = checksum(text), map[string]string{testRecord: text}
}

// fresh is a Node as a kubelet registers it.
func fresh() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a", ResourceVersion: "7",
			Labels: map[string]string{"kubernetes.io/hostname": "a"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{Addresses: addresses("host a")},
	}
}

// machineA is the machine of Node a.
func machineA() cloud.Machine {
	return cloud.Machine{ProviderID: "ground://a", Addresses: addresses("host a, in 10.0.0.1, in fd00::1"),
		Type: "small", Zone: "z1", Region: "r1"}
}

const allStandard = `"beta.kubernetes.io/instance-type":"small","failure-domain.beta.kubernetes.io/region":"r1","failure-domain.beta.kubernetes.io/zone":"z1",` +
	`"node.kubernetes.io/instance-type":"small","topology.kubernetes.io/region":"r1","topology.kubernetes.io/zone":"z1"`

// checksumLabel and noChecksum are the label of a record in a patch.
func checksumLabel(text string) string { return `"` + testChecksum + `":"` + checksum(text) + `"` }

const noChecksum = `"` + testChecksum + `":null`

// writes are the patches that bring the Node in sync with the machine, and the Node after them.
func writes(t *testing.T, node *corev1.Node, machine cloud.Machine) (patches []string, after *corev1.Node) {
	t.Helper()
	for {
		d, problem := compare(node, machine, testDomain)
		if problem != nil {
			t.Fatal(problem)
		}
		if d.none() {
			return patches, node
		}
		part, b := d.next(node)
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		patches = append(patches, strings.TrimSpace(part+" "+string(text)))
		if len(patches) > 5 {
			t.Fatalf("it never ends: %q", patches)
		}
		node = patched(node, d, part)
	}
}

// patched is the Node after one write.
func patched(node *corev1.Node, d difference, part string) *corev1.Node {
	node = node.DeepCopy()
	if part == partStatus {
		node.Status.Addresses = d.addresses
	}
	if part == partStatus && d.inSpec() {
		return node
	}
	for into, from := range map[*map[string]string]map[string]*string{&node.Labels: d.labels,
		&node.Annotations: d.annotations} {
		for key, value := range from {
			if value == nil {
				delete(*into, key)
				continue
			}
			if *into == nil {
				*into = map[string]string{}
			}
			(*into)[key] = *value
		}
	}
	if d.providerID != "" {
		node.Spec.ProviderID = d.providerID
	}
	if d.retaints {
		node.Spec.Taints = d.taints
	}
	return node
}

// TestInitialisationTakesTwoWrites: the addresses are written first, and everything else with the taint in the second
// write, so that nothing is scheduled to a Node that cannot be reached. After that nothing is written.
func TestInitialisationTakesTwoWrites(t *testing.T) {
	patches, _ := writes(t, fresh(), machineA())
	want := []string{
		`status {"metadata":{"uid":"uid-a"},"status":{"addresses":[{"type":"Hostname","address":"a"},{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"fd00::1"}]}}`,
		`{"metadata":{"uid":"uid-a","resourceVersion":"7","labels":{` + allStandard + `}},"spec":{"providerID":"ground://a","taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}}`,
	}
	if diff := cmp.Diff(want, patches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWrites: each write contains only what differs.
func TestWrites(t *testing.T) {
	const head = `{"metadata":{"uid":"uid-a","resourceVersion":"7"`
	gpu := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	for name, tt := range map[string]struct {
		node    func(*corev1.Node)
		machine func(*cloud.Machine)
		want    []string
	}{
		"nothing differs": {nil, nil, nil},
		"another type":    {nil, func(m *cloud.Machine) { m.Type = "large" }, []string{head + `,"labels":{"beta.kubernetes.io/instance-type":"large","node.kubernetes.io/instance-type":"large"}}}`}},
		"labels lost": {func(n *corev1.Node) { delete(n.Labels, "topology.kubernetes.io/zone") }, nil,
			[]string{head + `,"labels":{"topology.kubernetes.io/zone":"z1"}}}`}},
		"zone unknown": {func(n *corev1.Node) {
			n.Labels["topology.kubernetes.io/zone"] = "mine"
		}, func(m *cloud.Machine) { m.Zone = "" }, nil},
		"another address": {nil, func(m *cloud.Machine) { m.Addresses = addresses("host a, in 10.0.0.2") },
			[]string{`status {"metadata":{"uid":"uid-a"},"status":{"addresses":[{"type":"Hostname","address":"a"},{"type":"InternalIP","address":"10.0.0.2"}]}}`}},
		"another address and type, in one": {nil, func(m *cloud.Machine) {
			m.Addresses, m.Type = addresses("host a, in 10.0.0.2"), "large"
		},
			[]string{`status ` + head + `,"labels":{"beta.kubernetes.io/instance-type":"large","node.kubernetes.io/instance-type":"large"}},"status":{"addresses":[{"type":"Hostname","address":"a"},{"type":"InternalIP","address":"10.0.0.2"}]}}`}},
		"a label": {nil, func(m *cloud.Machine) { m.Labels = map[string]string{"team": "shop"} },
			[]string{head + `,"labels":{` + checksumLabel(`{"labels":{"team":"shop"}}`) +
				`,"team":"shop"},"annotations":{"example.com/applied":"{\"labels\":{\"team\":\"shop\"}}"}}}`}},
		"a label less": {func(n *corev1.Node) {
			n.Labels["team"] = "shop"
			wasSet(n, `{"labels":{"team":"shop"}}`)
		},
			nil,
			[]string{head + `,"labels":{` + noChecksum + `,"team":null},"annotations":{"example.com/applied":null}}}`}},
		"a label that is not known now": {func(n *corev1.Node) {
			n.Labels["cpus"] = "4"
			wasSet(n, `{"labels":{"cpus":"4"}}`)
		},
			func(m *cloud.Machine) { m.UnknownLabels = []string{"cpus", "memory"} }, nil},
		"a taint": {nil, func(m *cloud.Machine) { m.Taints = []corev1.Taint{gpu} },
			[]string{head + `,"labels":{` + checksumLabel(`{"taints":{"gpu:NoSchedule":"yes"}}`) + `},"annotations":{"example.com/applied":"{\"taints\":{\"gpu:NoSchedule\":\"yes\"}}"}},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},{"key":"gpu","value":"yes","effect":"NoSchedule"}]}}`}},
		"another value of a taint": {func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, gpu)
			wasSet(n, `{"taints":{"gpu:NoSchedule":"yes"}}`)
		}, func(m *cloud.Machine) { m.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}} },
			[]string{head + `,"labels":{` + checksumLabel(`{"taints":{"gpu:NoSchedule":""}}`) + `},"annotations":{"example.com/applied":"{\"taints\":{\"gpu:NoSchedule\":\"\"}}"}},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},{"key":"gpu","effect":"NoSchedule"}]}}`}},
		"the last taint less": {func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{gpu}
			wasSet(n, `{"taints":{"gpu:NoSchedule":"yes"}}`)
		}, nil,
			[]string{head + `,"labels":{` + noChecksum +
				`},"annotations":{"example.com/applied":null}},"spec":{"taints":[]}}`}},
		"a user's taint": {func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, gpu) }, nil, nil},
		"a user's taint of another value": {func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, gpu) },
			func(m *cloud.Machine) {
				m.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
			}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, node := writes(t, fresh(), machineA())
			machine := machineA()
			if tt.node != nil {
				tt.node(node)
			}
			if tt.machine != nil {
				tt.machine(&machine)
			}
			patches, _ := writes(t, node, machine)
			if diff := cmp.Diff(tt.want, patches); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInvalidSettings: invalid settings are reported, and everything else is set.
func TestInvalidSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		machine cloud.Machine
		want    string // in the message; "": it can be set
	}{
		"a role":   {cloud.Machine{Labels: map[string]string{"node-role.kubernetes.io/worker": ""}}, ""},
		"a domain": {cloud.Machine{Labels: map[string]string{"k8s.example.com/a": "b"}}, ""},
		"a taint of a role": {cloud.Machine{Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane",
			Effect: "NoSchedule"}}}, ""},
		"Kubernetes' domain": {cloud.Machine{Labels: map[string]string{"kubernetes.io/hostname": "b"}},
			"kubernetes.io/hostname, which is reserved for Kubernetes"},
		"one below it": {cloud.Machine{Labels: map[string]string{"topology.kubernetes.io/zone": "b"}},
			"which is reserved for Kubernetes"},
		"the other": {cloud.Machine{Labels: map[string]string{"x.k8s.io/zone": "b"}},
			"which is reserved for Kubernetes"},
		"a taint of theirs": {cloud.Machine{Taints: []corev1.Taint{{Key: api.TaintExternalCloudProvider,
			Effect: "NoSchedule"}}},
			"the taint node.cloudprovider.kubernetes.io/uninitialized, which is reserved for Kubernetes"},
		"what keeps a Node": {cloud.Machine{Labels: map[string]string{testDomain + "/keep-node": "true"}},
			"example.com/keep-node, which protects a Node from deletion"},
		"no key":                 {cloud.Machine{Labels: map[string]string{"": "b"}}, `the label ""`},
		"a key with two slashes": {cloud.Machine{Labels: map[string]string{"a/b/c": "b"}}, `the label "a/b/c"`},
		"a value that is none":   {cloud.Machine{Labels: map[string]string{"a": "b c"}}, `with the value "b c"`},
		"an effect that there is not": {cloud.Machine{Taints: []corev1.Taint{{Key: "a", Effect: "Never"}}},
			`the effect "Never"`},
		"a zone that no label can say": {cloud.Machine{Zone: "my zone"}, `"my zone" for the label`},
		"a label that a user has set": {cloud.Machine{Labels: map[string]string{"user": "cloud"}},
			`another program or user set it to "hand"`},
		"a taint that a user has set": {
			cloud.Machine{Taints: []corev1.Taint{{Key: "user", Value: "cloud", Effect: "NoSchedule"}}},
			`another program or user set it to "hand"`},
		"the effect that evicts": {cloud.Machine{Taints: []corev1.Taint{{Key: "a",
			Effect: corev1.TaintEffectNoExecute}}}, ""},
		"the effect that only advises": {cloud.Machine{Taints: []corev1.Taint{{Key: "a",
			Effect: corev1.TaintEffectPreferNoSchedule}}}, ""},
		"a label that a user set alike": {cloud.Machine{Labels: map[string]string{"user": "hand"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := fresh()
			node.Labels["user"] = "hand"
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "user", Value: "hand",
				Effect: corev1.TaintEffectNoSchedule})
			machine := machineA()
			machine.Labels, machine.Taints = tt.machine.Labels, tt.machine.Taints
			if tt.machine.Zone != "" {
				machine.Zone = tt.machine.Zone
			}
			d, problem := compare(node, machine, testDomain)
			if problem != nil || d.providerID == "" || !d.retaints ||
				*d.labels[corev1.LabelInstanceTypeStable] != "small" {
				t.Errorf("it stands in the way of the rest: %v, %+v", problem, d)
			}
			var warnings string
			for _, p := range d.problems {
				warnings += p.Reason + " " + p.Message + "\n"
			}
			if !strings.Contains(warnings, tt.want) || (tt.want == "") != (warnings == "") {
				t.Errorf("events %q, want %q", warnings, tt.want)
			}
		})
	}
}

// TestObstacles: problems that prevent an initialisation do not concern initialised Nodes.
func TestObstacles(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*corev1.Node, *cloud.Machine)
		want   string
	}{
		"no address": {func(_ *corev1.Node, m *cloud.Machine) {
			m.Addresses = addresses("host a")
		}, cloud.MachineNoAddress},
		"nothing at all, but the kubelet's": {func(n *corev1.Node, m *cloud.Machine) {
			m.Addresses, n.Status.Addresses = nil, addresses("host a, in 10.0.0.1")
		}, ""},
		"no address in the cloud, but the kubelet's": {func(n *corev1.Node, m *cloud.Machine) {
			m.Addresses, n.Status.Addresses = nil, addresses("host a, in 10.0.0.1")
			m.Problems = []cloud.MachineProblem{{Reason: cloud.MachineNoAddress}}
		}, cloud.MachineNoAddress},
		"no provider ID": {func(_ *corev1.Node, m *cloud.Machine) { m.ProviderID = "" }, cloud.MachineNotFound},
		"the kubelet's": {func(n *corev1.Node, m *cloud.Machine) {
			n.Spec.ProviderID, m.ProviderID = "ground://a", ""
		}, ""},
		"an address it lacks": {func(n *corev1.Node, _ *cloud.Machine) {
			n.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: "10.9.9.9"}
		}, cloud.InvalidNodeIP},
	} {
		t.Run(name, func(t *testing.T) {
			node, machine := fresh(), machineA()
			tt.change(node, &machine)
			d, problem := compare(node, machine, testDomain)
			switch {
			case tt.want == "" && (problem != nil || !d.retaints):
				t.Errorf("got %v, want none", problem)
			case tt.want != "" && (problem == nil || problem.Reason != tt.want || !d.none()):
				t.Errorf("got %v and %+v, want %s and nothing written", problem, d, tt.want)
			}
			node.Spec.Taints = nil
			if _, problem := compare(node, machine, testDomain); problem != nil {
				t.Errorf("of a Node that is initialised: %v", problem)
			}
		})
	}
}

// FuzzCompare: after any settings of a machine are written, nothing differs, and what other clients set stays.
func FuzzCompare(f *testing.F) {
	f.Add("team", "shop", "gpu", "yes", "NoSchedule", `{"labels":{"team":"x"}}`, "10.0.0.1", true)
	f.Add("user", "x", "user", "x", "NoSchedule", `{"taints":{"user:NoSchedule":"hand"}}`, "", true)
	f.Add("user", "x", "user", "x", "NoSchedule", `{"labels":{"user":"hand"}}`, "", false)
	f.Fuzz(func(t *testing.T, label, value, taint, taintValue, effect, text, address string, ours bool) {
		node := fresh()
		node.Labels["user"] = "hand"
		if wasSet(node, text); !ours {
			delete(node.Labels, testChecksum)
		}
		machine := machineA()
		machine.Labels = map[string]string{label: value}
		machine.Taints = []corev1.Taint{{Key: taint, Value: taintValue, Effect: corev1.TaintEffect(effect)}}
		machine.Addresses = append(machine.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		_, after := writes(t, node, machine)
		if _, was := readApplied(text).Labels["user"]; !(ours && was) && after.Labels["user"] != "hand" {
			t.Errorf("the user's label became %q", after.Labels["user"])
		}
		if cloud.Uninitialised(after) || after.Spec.ProviderID != "ground://a" {
			t.Errorf("not initialised: %+v", after.Spec)
		}
	})
}
