package thalassa

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

const (
	labelPrefix = "node-label.example.com/"
	taintPrefix = "node-taint.example.com/"
	byServer    = "example.com/server"
)

// TestNodesAreInitialised: with everything the cloud knows of their servers, and kept so when that changes.
func TestNodesAreInitialised(t *testing.T) {
	all := func(c *cloudconfig.Instances) {
		c.LabelPrefix, c.TaintPrefix, c.TypeLabels = labelPrefix, taintPrefix, true
	}
	withNodesCluster(t, emulator.Config{}, all, func(h *nodesCluster) {
		id := h.machine(emulator.MachineSpec{Name: "a", Zone: "nl-01b", Type: "pgp-medium",
			Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")},
			Labels: map[string]string{labelPrefix + "team": "shop", taintPrefix + "gpu": "yes.NoSchedule",
				"other": "x"}})
		h.register("a", nil)
		h.pass(time.Second)
		types, err := h.api().ListMachineTypes(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[string][2]string{}
		for _, one := range types {
			sizes[one.Slug] = [2]string{fmt.Sprint(one.Vcpus), fmt.Sprint(float64(one.RamMb) / 1024)}
		}
		want := map[string]string{
			"node.kubernetes.io/instance-type": "pgp-medium", "beta.kubernetes.io/instance-type": "pgp-medium",
			"topology.kubernetes.io/zone": "nl-01b", "failure-domain.beta.kubernetes.io/zone": "nl-01b",
			"topology.kubernetes.io/region": "nl-01", "failure-domain.beta.kubernetes.io/region": "nl-01",
			label.CPUs: sizes["pgp-medium"][0], label.Memory: sizes["pgp-medium"][1], "team": "shop",
		}
		n := unsealed(t, h.node("a"))
		if diff := cmp.Diff(want, n.Labels); diff != "" || n.Spec.ProviderID != providerid.Of(id) {
			t.Errorf("provider ID %s, labels (-want +got):\n%s", n.Spec.ProviderID, diff)
		}
		if diff := cmp.Diff([]corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
			n.Spec.Taints); diff != "" {
			t.Errorf("taints (-want +got):\n%s", diff)
		}
		addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "a"},
			{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}
		if diff := cmp.Diff(addresses, n.Status.Addresses); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}

		h.update(id, func(u *iaas.UpdateMachine) {
			u.Labels = map[string]string{labelPrefix + "team": "bank"}
			large := "pgp-large"
			u.MachineType = &large
		})
		h.pass(keepPeriod + time.Minute)
		n = unsealed(t, h.node("a"))
		want["team"], want[label.CPUs], want[label.Memory] = "bank", sizes["pgp-large"][0], sizes["pgp-large"][1]
		want["node.kubernetes.io/instance-type"], want["beta.kubernetes.io/instance-type"] = "pgp-large", "pgp-large"
		if diff := cmp.Diff(want, n.Labels); diff != "" || len(n.Spec.Taints) > 0 {
			t.Errorf("later: taints %v, labels (-want +got):\n%s", n.Spec.Taints, diff)
		}
		h.config.InstancesV2.LabelPrefix, h.config.InstancesV2.TypeLabels = "", false
		h.begin()
		h.pass(keepPeriod)
		for _, label := range []string{"team", label.CPUs, label.Memory, labelSeal} {
			if value, left := h.node("a").Labels[label]; left {
				t.Errorf("label %s=%s is left although nothing asks for it any more", label, value)
			}
		}
		if len(h.node("a").Annotations) > 0 {
			t.Errorf("annotations are left: %v", h.node("a").Annotations)
		}
	})
}

// labelSeal is of the record of what was set on a node.
const labelSeal = "node-restriction.kubernetes.io/k8s-thalassa-cloud-applied"

// unsealed is a node without its seal, which it must have.
func unsealed(t *testing.T, n *corev1.Node) *corev1.Node {
	t.Helper()
	n = n.DeepCopy()
	if n.Labels[labelSeal] == "" {
		t.Error("the record of what was set has no seal")
	}
	delete(n.Labels, labelSeal)
	return n
}

// TestZonesSwitchedOff: then the labels stay what they are, whoever set them.
func TestZonesSwitchedOff(t *testing.T) {
	withNodesCluster(t, emulator.Config{}, func(c *cloudconfig.Instances) {
		c.ZoneAndRegionEnabled = false
	}, func(h *nodesCluster) {
		h.machine(emulator.MachineSpec{Name: "a"})
		h.register("a", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: "mine"} })
		h.pass(2 * keepPeriod)
		labels := h.node("a").Labels
		_, region := labels[corev1.LabelTopologyRegion]
		if h.waiting() > 0 || labels[corev1.LabelTopologyZone] != "mine" || region {
			t.Errorf("labels %v", labels)
		}
	})
}

// TestTypesThatCannotBeListed block no Node and are reported; what was known before stays.
func TestTypesThatCannotBeListed(t *testing.T) {
	withNodesCluster(t, emulator.Config{}, func(c *cloudconfig.Instances) { c.TypeLabels = true },
		func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a"})
			h.register("a", nil)
			h.pass(time.Second)
			before := h.node("a").Labels[label.CPUs]
			h.events()
			h.inject(fault.Rule{Operation: "GET /v1/machine-types", Effect: fault.Effect{Kind: fault.Forbidden}})
			h.begin()
			h.machine(emulator.MachineSpec{Name: "b"})
			h.register("b", nil)
			h.pass(keepPeriod)
			if after := h.node("a").Labels[label.CPUs]; after != before || before == "" {
				t.Errorf("the label %q became %q", before, after)
			}
			if reported := h.events(); h.waiting() > 0 || strings.Count(reported, "Warning CloudRefused") < 1 ||
				!strings.Contains(reported, "need the permission to read machine types") {
				t.Errorf("reported %s", reported)
			}
		})
}

func (l *lab) inject(rule fault.Rule) {
	l.Helper()
	if _, err := l.emulator.Inject(rule); err != nil {
		l.Fatal(err)
	}
}

// TestC4_46_WhyNodesAreNotInitialised: with other products only a line in a log says why the taint stays. The event on
// the node says it, and the node is initialised by itself once that is put right.
func TestC4_46_WhyNodesAreNotInitialised(t *testing.T) {
	for name, tt := range obstacles() {
		t.Run(name, func(t *testing.T) {
			withNodesCluster(t, emulator.Config{Seed: twoVPCs()}, nil, func(h *nodesCluster) {
				if tt.begin != nil {
					tt.begin(h)
					h.begin() // with what the test put between it and the cloud
				}
				h.count()
				h.register("a", tt.node)
				h.pass(30 * time.Minute)
				reported := h.events()
				if strings.Count(reported, "Warning") != 1 || !strings.Contains(reported, "Warning "+tt.reason) ||
					!strings.Contains(reported, tt.want) {
					t.Errorf("reported %s\nwant %s %s", reported, tt.reason, tt.want)
				}
				if calls := h.spent(); calls > 4*30 {
					t.Errorf("%v calls in half an hour: %v", calls, h.emulator.Counters())
				}
				if h.waiting() != 1 || h.patches.Load() > 0 {
					t.Errorf("%d nodes wait, %d writes", h.waiting(), h.patches.Load())
				}
				if tt.mend == nil {
					return
				}
				tt.mend(h)
				h.pass(3 * time.Minute)
				if reported := h.events(); h.waiting() > 0 || !strings.Contains(reported, "Normal Synced") {
					t.Errorf("not initialised three minutes after it is mended: %s", reported)
				}
			})
		})
	}
}

// twoVPCs is a cloud with another VPC.
func twoVPCs() emulator.Seed {
	far := emulator.DefaultSeed()
	far.Organisations[0].VPCs = append(far.Organisations[0].VPCs, emulator.VPCSeed{Identity: "vpc-far", Name: "far",
		Region: emulator.DefaultRegion,
		CIDRs:  []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
		Subnets: []emulator.SubnetSeed{{Identity: "subnet-far", Name: "far",
			CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/17")}}}})
	return far
}

// obstacle is why a node is not initialised.
type obstacle struct {
	node   func(*corev1.Node) // how its kubelet registers it; nil: without anything
	begin  func(*nodesCluster)
	reason string
	want   string // in the message
	mend   func(*nodesCluster)
}

func obstacles() map[string]obstacle {
	return map[string]obstacle{
		"no server of that name": {nil, nil, cloud.MachineNotFound,
			"VPC vpc-emulator000000000001 has no machine with the slug a. Give the machine the name of this Node",
			func(h *nodesCluster) { h.machine(emulator.MachineSpec{Name: "a"}) }},
		"two of that name": {nil, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a"})
			h.machine(emulator.MachineSpec{Name: "twin"})
			h.tap().shown = func(_ string, object map[string]any) {
				if object["slug"] == "twin" { // the emulator lets no two have the same slug in a VPC
					object["slug"] = "a"
				}
			}
		}, cloud.MachineAmbiguous, "2 machines of VPC vpc-emulator000000000001 have the slug a",
			func(h *nodesCluster) {
				if err := h.emulator.DeleteMachine("twin"); err != nil {
					h.Fatal(err)
				}
			}},
		"in another VPC": {nil, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a", Subnet: "subnet-far"})
		}, cloud.MachineElsewhere,
			"the machine with the slug a is in VPC vpc-far", func(h *nodesCluster) {
				if err := h.emulator.DeleteMachine("a"); err != nil {
					h.Fatal(err)
				}
				h.machine(emulator.MachineSpec{Name: "a"})
			}},
		"named, and in another VPC": {func(n *corev1.Node) { n.Spec.ProviderID = providerid.Of("vm-far") },
			func(h *nodesCluster) {
				h.machine(emulator.MachineSpec{Identity: "vm-far", Name: "b", Subnet: "subnet-far"})
			}, cloud.MachineElsewhere, "server vm-far is in VPC vpc-far", nil},
		"named, and nowhere": {func(n *corev1.Node) {
			n.Spec.ProviderID = providerid.Of("vm-gone")
		}, nil, cloud.MachineNotFound, "has no machine vm-gone, which this Node names", nil},
		"replaced": {func(n *corev1.Node) {
			n.Spec.ProviderID = providerid.Of("vm-gone")
		}, func(h *nodesCluster) { h.machine(emulator.MachineSpec{Identity: "vm-new", Name: "a"}) },
			cloud.MachineReplaced, "the machine with the slug a is vm-new now. Delete this Node", nil},
		"a provider ID that names none": {func(n *corev1.Node) {
			n.Spec.ProviderID = "thalassacloud:///vm-1"
		}, func(h *nodesCluster) { h.machine(emulator.MachineSpec{Identity: "vm-1", Name: "a"}) },
			cloud.InvalidSetting, `is "thalassacloud:///vm-1", which does not name a machine`, nil},
		"no address": {nil, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a"})
			h.addressless("a")
		}, cloud.MachineNoAddress, "has no address on its network interface", func(h *nodesCluster) {
			h.addressless("a", netip.MustParseAddr("10.0.0.77"))
		}},
		"not permitted": {nil, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a"})
			h.inject(fault.Rule{Operation: "GET /v1/machines", Effect: fault.Effect{Kind: fault.Forbidden}})
		}, cloud.CloudRefused, "check cloudCredentials and organisation", func(h *nodesCluster) {
			h.emulator.ClearFaults()
		}},
		"away": {nil, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Name: "a"})
			h.inject(fault.Rule{Operation: "GET /v1/machines", Effect: fault.Effect{Kind: fault.Refuse, Status: 503}})
		}, cloud.CloudNotReachable, "cloud API unavailable", func(h *nodesCluster) { h.emulator.ClearFaults() }},
	}
}

// addressless gives a server these addresses, or none.
func (h *nodesCluster) addressless(name string, addresses ...netip.Addr) {
	h.Helper()
	if err := h.emulator.SetMachineAddresses(name, addresses...); err != nil {
		h.Fatal(err)
	}
}

// TestMachineAnnotation: it names the server only where it is switched on, and none that another node has.
func TestMachineAnnotation(t *testing.T) {
	on := func(c *cloudconfig.Instances) { c.MachineAnnotation = byServer }
	with := func(value string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Annotations = map[string]string{byServer: value} }
	}
	for name, tt := range map[string]struct {
		settings func(*cloudconfig.Instances)
		value    string
		want     string // reason
	}{
		"switched off":         {nil, "vm-1", cloud.MachineNotFound},
		"an identity":          {on, "vm-1", ""},
		"a provider ID":        {on, providerid.Of("vm-1"), ""},
		"of another node":      {on, "vm-taken", cloud.MachineTaken},
		"of none":              {on, "vm-none", cloud.MachineNotFound},
		"no identity":          {on, "../vpcs", cloud.InvalidSetting},
		"another cloud's":      {on, "aws:///i-1", cloud.InvalidSetting},
		"there is none, empty": {on, "", cloud.MachineNotFound},
		"besides the name":     {on, "vm-taken", ""}, // a kubelet may write the annotation
	} {
		t.Run(name, func(t *testing.T) {
			withNodesCluster(t, emulator.Config{}, tt.settings, func(h *nodesCluster) {
				h.machine(emulator.MachineSpec{Identity: "vm-1", Name: "one"})
				h.machine(emulator.MachineSpec{Identity: "vm-taken", Name: "taken"})
				h.register("taken", nil)
				h.pass(time.Second)
				h.events()
				node := "node-1"
				if name == "besides the name" {
					node = "one"
				}
				h.register(node, with(tt.value))
				h.pass(time.Minute)
				reported := h.events()
				switch {
				case tt.want == "" && (h.waiting() > 0 || h.node(node).Spec.ProviderID != providerid.Of("vm-1")):
					t.Errorf("not initialised: %s", reported)
				case tt.want != "" && (h.waiting() != 1 || !strings.Contains(reported, "Warning "+tt.want)):
					t.Errorf("%d wait; reported %s, want %s", h.waiting(), reported, tt.want)
				}
			})
		})
	}
}

// TestBudgetsOfInitialisation: the nodes of a large cluster cost a few lists, are initialised with two writes each, and
// then cost next to nothing.
func TestBudgetsOfInitialisation(t *testing.T) {
	t.Parallel()
	size := tierSize().largeSize
	seed := emulator.DefaultSeed()
	vpc := &seed.Organisations[0].VPCs[0]
	vpc.CIDRs = append(vpc.CIDRs, netip.MustParsePrefix("fd00::/48"))
	vpc.Subnets[0].CIDRs = append(vpc.Subnets[0].CIDRs, netip.MustParsePrefix("fd00::/64"))
	withNodesCluster(t, emulator.Config{Seed: seed}, nil, func(h *nodesCluster) {
		for i := range size {
			h.machine(emulator.MachineSpec{Name: fmt.Sprintf("n-%04d", i), Addresses: []netip.Addr{
				netip.AddrFrom4([4]byte{10, 0, byte(4 + i/200), byte(i%200 + 1)}),
				netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1))}})
		}
		h.begin()
		h.count()
		for i := range size {
			h.register(fmt.Sprintf("n-%04d", i), nil)
		}
		h.pass(time.Minute)
		if h.waiting() > 0 {
			t.Fatalf("%d nodes wait: %s", h.waiting(), h.events())
		}
		h.within("initialise-calls", h.spent())
		h.within("initialise-patches", float64(h.patches.Load())/float64(size))

		h.count()
		const minutes = 15
		h.pass(minutes * time.Minute)
		h.within("kept-calls", h.spent()/minutes)
		h.within("kept-writes", float64(h.patches.Load())+float64(len(h.events())))

		h.count()
		h.begin()
		h.pass(time.Minute)
		if h.patches.Load() > 0 || h.events() != "" {
			t.Errorf("a restart makes %d writes, and tells %s", h.patches.Load(), h.events())
		}
	})
}

// TestBudgetOfJoins: 500 nodes at once, of which a fifth is there before lists show their servers.
func TestBudgetOfJoins(t *testing.T) {
	t.Parallel()
	withNodesCluster(t, emulator.Config{}, nil, func(h *nodesCluster) {
		h.machine(emulator.MachineSpec{Name: "first"})
		h.register("first", nil)
		h.pass(time.Minute)
		h.count()
		for i := range 400 {
			h.machine(emulator.MachineSpec{Name: fmt.Sprint("n-", i)})
		}
		for i := range 500 {
			h.register(fmt.Sprint("n-", i), nil)
			if i%50 == 0 {
				h.pass(100 * time.Millisecond)
			}
		}
		h.pass(2 * time.Second)
		for i := range 100 {
			h.machine(emulator.MachineSpec{Name: fmt.Sprint("n-", i+400)})
		}
		h.pass(time.Minute)
		if h.waiting() > 0 {
			t.Fatalf("%d nodes wait", h.waiting())
		}
		h.within("joins-calls", h.spent())
	})
}

// TestServerReplacedUnderItsName: what a list shows that is older than the node may be the server before this one. The
// node never names that one, for a provider ID cannot be changed.
func TestServerReplacedUnderItsName(t *testing.T) {
	withNodesCluster(t, emulator.Config{}, nil, func(h *nodesCluster) {
		h.machine(emulator.MachineSpec{Identity: "vm-old", Name: "a"})
		h.machine(emulator.MachineSpec{Name: "other"})
		h.register("other", nil)
		h.pass(time.Second) // which lists the old one
		if err := h.emulator.DeleteMachine("vm-old"); err != nil {
			t.Fatal(err)
		}
		h.machine(emulator.MachineSpec{Identity: "vm-new", Name: "a"})
		h.pass(time.Second)
		h.count()
		h.register("a", nil)
		h.pass(2 * time.Second)
		if got := h.node("a").Spec.ProviderID; got != providerid.Of("vm-new") {
			t.Errorf("provider ID %q; reported %s", got, h.events())
		}
		if calls := h.spent(); calls != 1 {
			t.Errorf("%v calls for one node: %v", calls, h.emulator.Counters())
		}
	})
}

// TestServerThatIsBeingDeleted is never what an event recommends, neither by its name nor by an annotation.
func TestServerThatIsBeingDeleted(t *testing.T) {
	for _, state := range []string{"deleting", "deleted", "Deleting"} {
		withNodesCluster(t, emulator.Config{}, func(c *cloudconfig.Instances) {
			c.MachineAnnotation = byServer
		}, func(h *nodesCluster) {
			h.machine(emulator.MachineSpec{Identity: "vm-a", Name: "a"})
			h.tap().shown = func(_ string, object map[string]any) {
				if object["identity"] == "vm-a" {
					object["state"] = state
				}
			}
			h.begin()
			h.register("a", nil)
			h.register("b", func(n *corev1.Node) { n.Annotations = map[string]string{byServer: "vm-a"} })
			h.pass(5 * time.Minute)
			reported := h.events()
			if h.waiting() != 2 || h.patches.Load() > 0 || strings.Count(reported, "Warning MachineNotFound") != 2 {
				t.Errorf("%s: %d wait; reported %s", state, h.waiting(), reported)
			}
			// the list leaves out what is deleted already
			if state != "deleted" && strings.Count(reported, "is being deleted") != 2 {
				t.Errorf("%s: %d wait; reported %s", state, h.waiting(), reported)
			}
		})
	}
}

// TestServersDoNotChangeRouting: whoever may label servers does not decide which nodes are kept, and everything else is
// set nevertheless.
func TestServersDoNotChangeRouting(t *testing.T) {
	both := func(c *cloudconfig.Instances) { c.LabelPrefix, c.TaintPrefix = labelPrefix, taintPrefix }
	withNodesCluster(t, emulator.Config{}, both, func(h *nodesCluster) {
		h.machine(emulator.MachineSpec{Name: "a", Labels: map[string]string{labelPrefix +
			"k8s.thalassa.cloud/keep-node": "true", labelPrefix + "k8s.thalassa.cloud/cpus": "999",
			taintPrefix + "k8s.thalassa.cloud/x": "NoExecute", labelPrefix + "team": "shop"}})
		h.register("a", nil)
		h.pass(time.Second)
		n, reported := h.node("a"), h.events()
		for key := range n.Labels {
			if strings.HasPrefix(key, label.Reserved) {
				t.Errorf("label %s is set", key)
			}
		}
		if len(n.Spec.Taints) > 0 || n.Labels["team"] != "shop" ||
			strings.Count(reported, "Warning InvalidSetting") != 3 {
			t.Errorf("taints %v, labels %v; reported %s", n.Spec.Taints, n.Labels, reported)
		}
	})
}

// TestServerLosesItsAddresses: an initialised node keeps those it has, and everything else stays in sync; an event
// reports it.
func TestServerLosesItsAddresses(t *testing.T) {
	withNodesCluster(t, emulator.Config{}, nil, func(h *nodesCluster) {
		id := h.machine(emulator.MachineSpec{Name: "a", Type: "pgp-medium"})
		h.register("a", nil)
		h.pass(time.Second)
		before := h.node("a").Status.Addresses
		h.events()
		h.addressless("a")
		h.update(id, func(u *iaas.UpdateMachine) {
			large := "pgp-large"
			u.MachineType = &large
		})
		h.pass(keepPeriod + time.Minute)
		reported := h.events()
		if diff := cmp.Diff(before, h.node("a").Status.Addresses); diff != "" ||
			strings.Count(reported, "Warning MachineNoAddress") != 1 {
			t.Errorf("reported %s; addresses (-want +got):\n%s", reported, diff)
		}
		if got := h.node("a").Labels[corev1.LabelInstanceTypeStable]; got != "pgp-large" {
			t.Errorf("type %q", got)
		}
	})
}
