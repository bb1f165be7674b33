package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// changeNode changes a Node, with its status.
func (r *rig) changeNode(name string, change func(*corev1.Node)) {
	r.Helper()
	nodes := r.cluster.CoreV1().Nodes()
	one, err := nodes.Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	change(one)
	if _, err := nodes.Update(r.Context(), one, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// ready sets the condition Ready of Nodes.
func (r *rig) ready(status corev1.ConditionStatus, names ...string) {
	r.Helper()
	for _, name := range names {
		r.changeNode(name, func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status,
				LastHeartbeatTime: metav1.NewTime(time.Unix(1, 0))}}
		})
	}
}

// addUnknownNode adds a Node without a machine, as its kubelet registers it.
func (r *rig) addUnknownNode(name string) {
	r.Helper()
	_, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}}}, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// nodesAsJSON returns the Nodes of the command by name.
func (r *rig) nodesAsJSON() map[string]plugin.NodeState {
	r.Helper()
	var nodes plugin.Nodes
	decoder := json.NewDecoder(strings.NewReader(r.run("nodes", "-o", "json").out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&nodes); err != nil {
		r.Fatal(err)
	}
	found := map[string]plugin.NodeState{}
	for _, one := range nodes.Nodes {
		found[one.Name] = one
	}
	return found
}

// reasons returns the reasons of a Node's problems.
func reasons(of plugin.NodeState) string {
	var all []string
	for _, one := range of.Problems {
		all = append(all, one.Reason)
	}
	return strings.Join(all, " ")
}

// TestNodes: each Node is shown with its machine, and nothing is written.
func TestNodes(t *testing.T) {
	r := newRig(t)
	r.ready(corev1.ConditionTrue, "a", "b")
	r.changeNode("b", func(node *corev1.Node) {
		node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
	})
	r.wrote()
	shown := r.run("nodes")
	wantText(r, "the Nodes", shown.out, "NODE ", "MACHINE", "running", "The cloud controller manager would set: "+
		"addresses ",
		"The label node.kubernetes.io/exclude-from-external-load-balancers excludes it", "2 Nodes, 2 ready, 0 with "+
			"problems.")
	want(r, "exit code", shown.code, 0)
	wantText(r, "with -o wide", r.run("nodes", "-o", "wide").out, "ADDRESSES", "TYPE")
	want(r, "names", r.run("nodes", "-o", "name").out, "node/a\nnode/b\n")
	wantText(r, "one Node", r.run("nodes", "node/b").out, "1 Node, 1 ready")
	wantText(r, "an unknown Node", r.run("nodes", "nope").err, "Error: node nope does not exist")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
}

// TestNodesWithProblems: each problem has a reason and what to do, and the exit code is 1.
func TestNodesWithProblems(t *testing.T) {
	r := newRig(t)
	r.addNode("c")
	r.addNode("d")
	r.addUnknownNode("lost")
	r.ready(corev1.ConditionTrue, "a", "b")
	r.ready(corev1.ConditionUnknown, "c", "d")
	err := r.cloud.DeleteMachine("d")
	if err != nil {
		r.Fatal(err)
	}
	r.changeNode("b", func(node *corev1.Node) { node.Spec.ProviderID = "sky://b" })
	shown := r.run("nodes")
	want(r, "exit code", shown.code, 1)
	nodes := r.nodesAsJSON()
	want(r, "without a machine", reasons(nodes["lost"]), "MachineNotFound")
	want(r, "of another cloud", nodes["b"].Managed, false)
	want(r, "problems of that Node", reasons(nodes["b"]), "")
	want(r, "a kubelet that does not report", reasons(nodes["c"]), "NodeNotReady")
	want(r, "without a machine in the cloud", nodes["d"].MachineState, "gone")
	if all := reasons(nodes["d"]); !strings.Contains(all, "MachineGone") && !strings.Contains(all, "NodeNotRemoved") {
		r.Errorf("a Node whose machine does not exist has the problems %q", all)
	}
	r.ready(corev1.ConditionTrue, "d")
	want(r, "a ready Node without a machine",
		slices.Contains(strings.Fields(reasons(r.nodesAsJSON()["d"])), "MachineGone"), true)
}

// TestNodesOfOtherClouds: they are shown, and are neither counted nor problems, whatever their state is.
func TestNodesOfOtherClouds(t *testing.T) {
	r := newRig(t)
	r.ready(corev1.ConditionTrue, "a", "b")
	for name, id := range map[string]string{"elsewhere": "aws:///eu-1a/i-1", "hybrid": ""} {
		r.addUnknownNode(name)
		r.ready(corev1.ConditionUnknown, name)
		r.changeNode(name, func(node *corev1.Node) {
			if node.Spec.ProviderID = id; id == "" {
				node.Spec.Taints = nil
			}
		})
	}
	shown := r.run("nodes")
	wantText(r, "the Nodes", shown.out, "Node elsewhere", "Node hybrid", "It is not a Node of this cloud",
		"2 Nodes, 2 ready, 0 with problems.")
	want(r, "exit code", shown.code, 0)
	for line := range strings.SplitSeq(r.run("doctor").out, "\n") {
		if strings.Contains(line, "elsewhere") || strings.Contains(line, "hybrid") {
			t.Errorf("doctor shows %q", line)
		}
	}
}

// TestNodesInATerminal: rows fit the width of the terminal. With -o wide, identities are complete.
func TestNodesInATerminal(t *testing.T) {
	r := newRig(t)
	r.addUnknownNode("lost")
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		for name, one := range r.nodesAsJSON() {
			wantText(r, "the machine of Node "+name, r.run("nodes", "-o", "wide").out, one.Machine)
		}
		for line := range strings.SplitSeq(r.run("nodes").out, "\n") {
			if len(line) > width {
				t.Errorf("a line of %d characters at width %d: %s", len(line), width, line)
			}
		}
	}
}
