package thalassa

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

func named(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func TestInstanceMetadata(t *testing.T) {
	l := newLab(t, emulator.Config{}).overHTTP()
	id, err := l.emulator.AddMachine(emulator.MachineSpec{Name: "worker-1", Zone: "nl-01b", Type: "pgp-medium"})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := l.api().GetMachine(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "thalassacloud://" + id, InstanceType: "pgp-medium", Zone: "nl-01b", Region: "nl-01",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "worker-1"},
			{Type: corev1.NodeInternalIP, Address: machine.Interfaces[0].IPAddresses[0]},
		},
	}
	for name, node := range map[string]*corev1.Node{
		"by name":       named("worker-1", ""),
		"by providerID": named("worker-1", "thalassacloud://"+id),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.answers().InstanceMetadata(t.Context(), node)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, metadata (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestInstanceMetadataFailures(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.nodes("known")
	tests := []struct {
		name     string
		node     *corev1.Node
		notFound bool
		want     string
	}{
		{"no such server", named("ghost", ""), true,
			"node ghost: VPC vpc-emulator000000000001 has no machine with the slug ghost"},
		{"providerID of a server that is gone", named("ghost", "thalassacloud://m-gone"), true, "machine m-gone"},
		{"providerID of another cloud", named("ghost", "aws:///i-1"), false,
			`providerID "aws:///i-1" is not of this cloud`},
		{"providerID wins over the name", named("known", "thalassacloud://m-gone"), true, "machine m-gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.answers().InstanceMetadata(t.Context(), tt.node)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				errors.Is(err, cloudprovider.InstanceNotFound) != tt.notFound {
				t.Errorf("error = %v; want %q, not found %v", err, tt.want, tt.notFound)
			}
		})
	}
}

// TestMachineWithoutInterfaces is not initialised without an address, and not missing either; the error says what to
// do.
func TestMachineWithoutInterfaces(t *testing.T) {
	l := newLab(t, emulator.Config{})
	node := l.nodes("bare")[0]
	if err := l.emulator.SetMachineAddresses("bare"); err != nil {
		t.Fatal(err)
	}
	metadata, err := l.answers().InstanceMetadata(t.Context(), node)
	if err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Fatalf("metadata %+v, error %v; want an error", metadata, err)
	}
	for _, want := range []string{"of this Node has no address on its network interface \"default\" yet",
		"retried automatically", "attach the machine to a subnet"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q in it", err, want)
		}
	}
}

// TestTwoMachinesOfOneName: nobody guesses which of them the node runs on.
func TestTwoMachinesOfOneName(t *testing.T) {
	l := newLab(t, emulator.Config{})
	twins := l.nodes("twin", "other")
	l.tap().shown = func(_ string, object map[string]any) {
		if object["slug"] == "other" { // the emulator lets no two have the same slug in a VPC
			object["slug"] = "twin"
		}
	}
	metadata, err := l.answers().InstanceMetadata(t.Context(), named("twin", ""))
	want := "node twin: 2 machines of VPC " + emulator.DefaultVPC + " have the slug twin. Set spec.providerID of " +
		"this Node to the machine that it runs on, thalassacloud://<machine identity>, or rename the others."
	if err == nil || err.Error() != want || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata %+v, error %v;\nwant %s", metadata, err, want)
	}
	if exists, err := l.answers().InstanceExists(t.Context(), named("twin", "")); exists || err == nil {
		t.Errorf("InstanceExists = %v, %v; want an error", exists, err)
	}
	for _, node := range twins {
		if got, err := l.answers().InstanceMetadata(t.Context(), node); err != nil ||
			got.ProviderID != node.Spec.ProviderID {
			t.Errorf("by providerID: %+v, error %v; want %s", got, err, node.Spec.ProviderID)
		}
	}
}

// TestAnErrorIsNotAnAnswer is what keeps an outage from deleting every node.
func TestAnErrorIsNotAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		node := l.nodes("a")[0]
		l.network = &failing{next: l.network, writes: -1}
		l.restart()
		if exists, err := l.answers().InstanceExists(t.Context(), node); err == nil {
			t.Errorf("InstanceExists without an answer = %v and no error", exists)
		}
		if off, err := l.answers().InstanceShutdown(t.Context(), node); err == nil {
			t.Errorf("InstanceShutdown without an answer = %v and no error", off)
		}
		if metadata, err := l.answers().InstanceMetadata(t.Context(), node); err == nil ||
			errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("InstanceMetadata without an answer = %v, %v", metadata, err)
		}
	})
}

// TestProviderIDThatNamesNone: a node with one is ours, and nothing is ever concluded about its server.
func TestProviderIDThatNamesNone(t *testing.T) {
	l := newLab(t, emulator.Config{})
	n := named("a", "thalassacloud:///vm-1")
	servers := l.cloud.machines
	if !servers.Owns(n.Spec.ProviderID) || servers.Owns("aws:///vm-1") || servers.Owns("") {
		t.Error("ours is not what has our scheme")
	}
	if state, err := servers.State(t.Context(), n, time.Now()); err == nil {
		t.Errorf("a look says %s", state)
	}
	if state, err := servers.Confirm(t.Context(), n); err == nil {
		t.Errorf("asked for it, the cloud says %s", state)
	}
}

func TestSubnet(t *testing.T) {
	subnets := func(labels ...map[string]string) emulator.Config {
		seed := emulator.DefaultSeed()
		vpc := &seed.Organisations[0].VPCs[0]
		base := vpc.Subnets[0]
		vpc.Subnets = nil
		for i, label := range labels {
			subnet := base
			subnet.Identity, subnet.Name, subnet.Labels = fmt.Sprintf("subnet-%d", i), fmt.Sprintf("net-%d", i), label
			subnet.CIDRs = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)}
			vpc.Subnets = append(vpc.Subnets, subnet)
		}
		return emulator.Config{Seed: seed}
	}
	role := map[string]string{label.SubnetRole: "true"}
	tests := []struct {
		name, configured string
		cloud            emulator.Config
		want, wantErr    string
	}{
		{"the only one", "", subnets(nil), "subnet-0", ""},
		{"the labelled one", "", subnets(nil, role), "subnet-1", ""},
		{"configured by identity", "subnet-0", subnets(nil, role), "subnet-0", ""},
		{"configured by slug", "net-1", subnets(nil, nil), "subnet-1", ""},
		{"unknown", "other", subnets(nil), "", `defaultSubnet "other" of the cloud-config is not in VPC vpc-emulator000000000001, which has the subnets subnet-0 (net-0)`},
		{"no telling", "", subnets(nil, nil), "",
			"set defaultSubnet in the cloud-config, or label one of them kubernetes.io/role/lb=true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.cloud)
			l.config.DefaultSubnet = tt.configured
			l.restart()
			b := l.cloud.balancers
			request := b.settings.Request(service("web", 80), balancer.Observed{})
			references := b.lookUp(t.Context(), request, balancer.Observed{})
			found := request.Compare(balancer.Input{References: references})
			got := ""
			for _, operation := range found.Plan {
				if create, is := operation.Object.(balancer.CreateLoadBalancer); is {
					got = create.LoadBalancer.Subnet
				}
			}
			err := found.Refused
			if got != tt.want || (err == nil) != (tt.wantErr == "") ||
				(err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("subnet = %q, %v; want %q, error %q", got, err, tt.want, tt.wantErr)
			}
		})
	}
}
