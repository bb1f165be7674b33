//go:build linux

package cluster

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
)

func TestLacking(t *testing.T) {
	node := func(taint string, conditions ...corev1.NodeCondition) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"},
			Status: corev1.NodeStatus{Conditions: conditions}}
		if taint != "" {
			n.Spec.Taints = []corev1.Taint{{Key: taint}}
		}
		return n
	}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	not := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "no network"}
	routed := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse}
	cut := corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Message: "quota"}
	all := usable{initialised: true, ready: true, routed: true}
	for _, test := range []struct {
		name   string
		node   *corev1.Node
		wanted usable
		want   string // part of what it lacks; empty: nothing
	}{
		{"usable", node("", ready, routed), all, ""},
		{"usable, with another taint", node(roleControlPlane, ready, routed), all, ""},
		{"not initialised", node(taintUninitialized, ready, routed), all, "not initialised"},
		{"not initialised, as no program does", node(taintUninitialized, ready), usable{ready: true}, ""},
		{"not ready", node("", not, routed), all, "no network"},
		{"not ready, as it has no networks", node(taintUninitialized, not), usable{}, ""},
		{"ready, and not yet without the taint", node(corev1.TaintNodeNotReady, ready, routed), all,
			"still has the taint"},
		{"silent", node(""), usable{ready: true}, "has not said"},
		{"without a route", node("", ready, cut), all, "quota"},
		{"nothing known of routes", node("", ready), all, "no route"},
		{"nothing known of routes", node("", ready), usable{initialised: true, ready: true}, ""},
	} {
		err := test.wanted.lacking(test.node)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestRegistered(t *testing.T) {
	both := addresses("10.0.0.2", "fd00::2")
	for one, want := range map[bool][]netip.Addr{false: both, true: addresses("10.0.0.2")} {
		if got := (Options{OneAddress: one}).registered(both); !slices.Equal(got, want) {
			t.Errorf("with one address %t: %v, want %v", one, got, want)
		}
	}
}

func TestUndoIsInReverse(t *testing.T) {
	var order []string
	c := &Cluster{}
	broken := errors.New("stuck")
	c.later("the first", func() error { order = append(order, "first"); return broken })
	c.later("the second", func() error { order = append(order, "second"); return nil })
	err := c.Close()
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "the first") {
		t.Errorf("got %v, want what could not be removed", err)
	}
	if got := strings.Join(order, " "); got != "second first" {
		t.Errorf("removed %s, want the second before the first", got)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// TestMachinesWithoutACluster gets machines before there is a cluster to join: nothing starts, and deleted machines
// are removed.
func TestMachinesWithoutACluster(t *testing.T) {
	m := newMachines(&Cluster{options: Options{Progress: func(line string) { t.Error(line) }}})
	m.happened(netns.Event{Kind: netns.Booted, Identity: "vm-1", Name: "worker-1"})
	at, err := m.await(t.Context(), "worker-1")
	if err != nil || at.Identity != "vm-1" {
		t.Errorf("got %+v and %v", at, err)
	}
	if m.node("worker-1") != nil {
		t.Error("a node runs without a cluster")
	}
	if err := m.close(); err == nil {
		t.Error("a machine is there, and that is no error")
	}
	m.happened(netns.Event{Kind: netns.Stopped, Identity: "vm-1", Name: "worker-1"})
	m.happened(netns.Event{Kind: netns.Deleted, Identity: "vm-1", Name: "worker-1"})
	if err := m.close(); err != nil {
		t.Error(err)
	}
}

// TestNodesReadyReportsALostProgram does not wait for a node whose containerd, say, has ended.
func TestNodesReadyReportsALostProgram(t *testing.T) {
	lost := errors.New("containerd ended")
	c := &Cluster{}
	c.machines = newMachines(c)
	running := &machine{lost: func() error { return lost }, work: &work{}}
	c.machines.present["vm-1"] = running
	if err := c.NodesReady(t.Context()); !errors.Is(err, lost) {
		t.Errorf("got %v, want what was lost", err)
	}
	running.work = nil
	if err := c.machines.broken(); err != nil {
		t.Errorf("of a machine that is off: %v", err)
	}
}

// TestMachinesReportWhatFailed: a wait for a machine that cannot start returns the reason, and waits for other machines
// succeed.
func TestMachinesReportWhatFailed(t *testing.T) {
	reported := ""
	m := newMachines(&Cluster{options: Options{Progress: func(line string) { reported = line }}})
	m.cluster.machines = m
	boot := func(identity, name string) *machine {
		m.happened(netns.Event{Kind: netns.Booted, Identity: identity, Name: name})
		return m.present[identity]
	}
	one := boot("vm-1", "worker-1")
	m.fail(one, context.Canceled) // a machine that was switched off while it booted
	if err := m.broken(); err != nil {
		t.Errorf("of a machine that boots: %v", err)
	}
	broken := errors.New("the kubelet ended")
	m.fail(one, broken)
	if _, err := m.await(t.Context(), "worker-1"); !errors.Is(err, broken) {
		t.Errorf("got %v, want why", err)
	}
	if err := m.broken(); !errors.Is(err, broken) {
		t.Errorf("got %v, want why", err)
	}
	if reported != broken.Error() {
		t.Errorf("reported %q", reported)
	}
	boot("vm-2", "worker-2")
	if _, err := m.await(t.Context(), "worker-2"); err != nil {
		t.Errorf("another machine: %v", err)
	}
	boot("vm-1", "worker-1")
	if _, err := m.await(t.Context(), "worker-1"); err != nil {
		t.Errorf("the machine, switched on again: %v", err)
	}
	m.fail(one, broken)
	for identity := range map[string]bool{"vm-1": true, "vm-2": true} {
		m.happened(netns.Event{Kind: netns.Deleted, Identity: identity})
	}
	if err := errors.Join(m.broken(), m.close()); err != nil {
		t.Errorf("of machines that are gone: %v", err)
	}
}

// TestMachinesJoinThoughOneFailed has a machine that waits for the cluster when another one fails: it still joins once
// there is one.
func TestMachinesJoinThoughOneFailed(t *testing.T) {
	m := newMachines(&Cluster{options: Options{Progress: func(string) {}}})
	ended := make(chan error, 1)
	go func() { ended <- m.wait(t.Context(), func() (bool, error) { return m.control != nil, nil }) }()
	m.fail(&machine{}, errors.New("the kubelet ended"))
	m.open(&controlplane.ControlPlane{})
	if err := <-ended; err != nil {
		t.Errorf("got %v, want that it joins", err)
	}
}

// TestMachinesReportWhatIsLeft: what could not be ended is reported in the end, too.
func TestMachinesReportWhatIsLeft(t *testing.T) {
	m := newMachines(&Cluster{options: Options{Progress: func(string) {}}})
	stuck := errors.New("a process is still there")
	m.leave(nil)
	m.leave(stuck)
	m.leave(errors.New("and another"))
	if err := m.close(); !errors.Is(err, stuck) || !strings.Contains(err.Error(), "and another") {
		t.Errorf("got %v, want all that is left", err)
	}
}

// TestValues are the values of the chart: who gives networks and makes routes is one of two, or the cloud controller
// manager.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		networks         Networks
		allocate, routes any
		cidr             any
	}{
		{ManagerNetworks, true, true, PodCIDR},
		{ManagerRoutes, nil, true, PodCIDR},
		{OwnNetworks, nil, nil, nil},
	} {
		more := map[string]any{"logVerbosity": 4,
			"cloudConfig": map[string]any{"additionalLabels": map[string]any{"a": "b"}}}
		c := &Cluster{options: Options{Networks: test.networks, Values: more},
			cloud: &thalassa{endpoint: "http://198.51.100.2:8080"}}
		values := c.Values()
		at := func(path ...string) any {
			found, _, _ := unstructured.NestedFieldNoCopy(values, path...)
			return found
		}
		if at("logVerbosity") != 4 || at("cloudConfig", "additionalLabels", "a") != "b" ||
			at("credentials", "existingSecret") != Credentials {
			t.Errorf("got %v", values)
		}
		if endpoint := at("cloudConfig", "endpoint"); endpoint != "http://198.51.100.2:8080" {
			t.Errorf("the cloud is at %v", endpoint)
		}
		allocate, routes, cidr := at("allocateNodeCIDRs", "enabled"), at("cloudConfig", "routes", "enabled"),
			at("cloudConfig", "clusterCIDR")
		if allocate != test.allocate || routes != test.routes || cidr != test.cidr {
			t.Errorf("with networks %d: allocates %v, makes routes %v, networks %v", test.networks, allocate, routes,
				cidr)
		}
	}
}

// TestRoutes makes a route once, and replaces one that leads to a machine of before.
func TestRoutes(t *testing.T) {
	c := &thalassa{url: serve(t)}
	cloud, err := customer(c.url)
	if err != nil {
		t.Fatal(err)
	}
	route := func(address string) {
		t.Helper()
		e := netns.Event{Name: "worker-1", Addresses: addresses(address, "fd00:7a1a::9")}
		for range 2 {
			if err := c.route(t.Context(), e, []string{"10.244.1.0/24"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := gateways(t, cloud); got != "10.244.1.0/24 via "+address {
			t.Errorf("the cloud has the routes %q", got)
		}
	}
	route("10.0.0.5")
	route("10.0.0.6")
	err = c.route(t.Context(), netns.Event{Name: "worker-1", Addresses: addresses("fd00:7a1a::9")},
		[]string{"10.244.2.0/24"})
	if err == nil || !strings.Contains(err.Error(), "family") {
		t.Errorf("got %v, want that the machine has no such address", err)
	}
}

func gateways(t *testing.T, cloud *iaas.Client) string {
	t.Helper()
	tables, err := cloud.ListRouteTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, table := range tables {
		for _, route := range table.Routes {
			all = append(all, route.DestinationCidrBlock+" via "+*route.GatewayAddress)
		}
	}
	return strings.Join(all, ", ")
}

func TestCopyLogs(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "logs")
	if err := copyLogs(filepath.Join(from, "none"), to); err != nil {
		t.Error(err)
	}
	for range 2 { // the second time in place of the first
		if err := errors.Join(os.WriteFile(filepath.Join(from, "a.log"), []byte(time.Now().String()), 0o600),
			copyLogs(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "a.log")); err != nil {
		t.Error(err)
	}
}
