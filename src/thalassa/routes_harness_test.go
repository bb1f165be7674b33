package thalassa

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// land is a cluster without an overlay network, in virtual time, in front of an emulated cloud: its pods are in
// 10.244.0.0/16 and fd00:244::/48. It has two subnets with a route table each.
type land struct {
	*lab
	cluster *fake.Clientset
	process *workerpooltest.Process
	made    int
}

// The route tables and subnets of a land.
const (
	mainTable, sideTable = "rtb-main", "rtb-side"
	sideSubnet           = "subnet-side"
)

// inLand runs a test in a synctest bubble.
func inLand(t *testing.T, switches emulator.Switches, test func(*land)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seed := emulator.DefaultSeed()
		vpc := &seed.Organisations[0].VPCs[0]
		vpc.CIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/48")}
		vpc.RouteTables = []emulator.RouteTableSeed{{Identity: mainTable, Name: "main", Default: true},
			{Identity: sideTable, Name: "side"}}
		vpc.Subnets[0].CIDRs = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/17"),
			netip.MustParsePrefix("fd00:0:0:1::/64")}
		vpc.Subnets = append(vpc.Subnets, emulator.SubnetSeed{Identity: sideSubnet, Name: "side", RouteTable: sideTable,
			CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.128.0/18")}})
		l := &land{lab: newLab(t, emulator.Config{Seed: seed, Switches: switches}), cluster: workerpooltest.NewClient(),
			process: workerpooltest.New(t)}
		l.config.Routes.Enabled = true
		l.config.API.RequestsPerSecond, l.config.API.Burst = 1000, 1000
		l.restart()
		test(l)
	})
}

// begin starts a process that knows nothing of the one before.
func (l *land) begin() {
	l.Helper()
	l.process.End()
	l.restart()
	offered := l.cloud.Offer()
	if offered.Routes == nil {
		l.Fatal("the cloud has no routes")
	}
	l.process.Begin(l.cluster, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		controller, err := route.New(route.Options{
			Provider: offered.Routes, Client: l.cluster, Nodes: factory.Core().V1().Nodes(),
			Recorder: l.process.Recorder, Domain: offered.LabelDomain,
			CIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/48")},
		})
		return controller.Run, err
	})
	l.wait(3 * time.Second)
}

// wait lets time pass.
func (l *land) wait(d time.Duration) { workerpooltest.Pass(d) }

// aPeriod is a little more than the time between two looks for drift.
const aPeriod = 5*time.Minute + 3*time.Second

// join adds a machine to the cloud and its Node, whose pods have these networks. It returns the machine's addresses.
func (l *land) join(name string, cidrs ...string) []string {
	l.Helper()
	return l.joinIn("", name, cidrs...)
}

func (l *land) joinIn(subnet, name string, cidrs ...string) []string {
	l.Helper()
	id, err := l.emulator.AddMachine(emulator.MachineSpec{Name: name, Subnet: subnet})
	if err != nil {
		l.Fatal(err)
	}
	machine, err := l.api().GetMachine(l.Context(), id)
	if err != nil {
		l.Fatal(err)
	}
	addresses := machine.Interfaces[0].IPAddresses
	l.register(name, id, addresses, cidrs...)
	return addresses
}

// register makes the Node of a machine.
func (l *land) register(name, machine string, addresses []string, cidrs ...string) {
	l.Helper()
	l.made++
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("uid-%d", l.made)),
			CreationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(l.made) * time.Second))},
		Spec: corev1.NodeSpec{ProviderID: providerid.Of(machine), PodCIDRs: cidrs},
	}
	node.Status.Addresses = internal(addresses)
	if _, err := l.cluster.CoreV1().Nodes().Create(l.Context(), node, metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
}

// internal are addresses as a Node has them.
func internal(addresses []string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, address := range addresses {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return all
}

// identity is that of the route to a destination.
func (l *land) identity(table, destination string) string {
	l.Helper()
	found, err := l.api().GetRouteTable(l.Context(), table)
	if err != nil {
		l.Fatal(err)
	}
	at := slices.IndexFunc(found.Routes, func(r iaas.RouteEntry) bool { return r.DestinationCidrBlock == destination })
	if at < 0 {
		return ""
	}
	return found.Routes[at].Identity
}

func (l *land) change(name string, change func(*corev1.Node)) {
	l.Helper()
	workerpooltest.ChangeNode(l, l.cluster, name, change)
}

func (l *land) leave(name string) {
	l.Helper()
	workerpooltest.DeleteNode(l, l.cluster, name)
}

// has are the routes of a table, as the official client sees them: "10.244.1.0/24 by 10.0.0.1", sorted.
func (l *land) has(table string) string {
	l.Helper()
	found, err := l.api().GetRouteTable(l.Context(), table)
	if err != nil {
		l.Fatal(err)
	}
	var all []string
	for _, one := range found.Routes {
		gateway := "something else"
		if one.GatewayAddress != nil {
			gateway = *one.GatewayAddress
		}
		all = append(all, one.DestinationCidrBlock+" by "+gateway)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// byHand adds a route as somebody else does.
func (l *land) byHand(table, destination, gateway string) {
	l.Helper()
	_, err := l.api().CreateRouteTableRoute(l.Context(), table,
		iaas.CreateRouteTableRoute{DestinationCidrBlock: destination, GatewayAddress: gateway})
	if err != nil && !strings.Contains(err.Error(), "unmarshal") { // the official client cannot read every answer
		l.Fatal(err)
	}
}

// loses removes a route by hand.
func (l *land) loses(table, destination string) {
	l.Helper()
	found, err := l.api().GetRouteTable(l.Context(), table)
	if err != nil {
		l.Fatal(err)
	}
	for _, one := range found.Routes {
		if one.DestinationCidrBlock != destination {
			continue
		}
		if err := l.api().DeleteRouteTableRoute(l.Context(), table, one.Identity); err != nil {
			l.Fatal(err)
		}
	}
}

// events are those since the last time, as "Reason", sorted.
func (l *land) events() string { return strings.Join(l.process.Reasons(), " ") }

// condition is NetworkUnavailable of a Node.
func (l *land) condition(name string) string {
	l.Helper()
	for _, one := range workerpooltest.Node(l, l.cluster, name).Status.Conditions {
		if one.Type == corev1.NodeNetworkUnavailable {
			return string(one.Status) + " " + one.Reason
		}
	}
	return ""
}

// counted are the calls since the counters were reset, without tokens, as "GET /v1/route-tables 2", sorted.
func (l *land) counted() string {
	var all []string
	for operation, n := range l.emulator.Counters() {
		if operation != "POST /oidc/token" {
			all = append(all, fmt.Sprintf("%s %d", operation, n))
		}
	}
	slices.Sort(all)
	l.emulator.ResetCounters()
	return strings.Join(all, ", ")
}

func (l *land) disturb(operation string, count int, effect fault.Effect) {
	l.Helper()
	if _, err := l.emulator.Inject(fault.Rule{Operation: operation, Count: count, Effect: effect}); err != nil {
		l.Fatal(err)
	}
}

func (l *land) is(what, got, want string) {
	l.Helper()
	if got != want {
		l.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
