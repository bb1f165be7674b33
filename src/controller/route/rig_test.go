package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// plain is a cloud with route tables, whose routes are given by hand as well.
type plain struct {
	mu     sync.Mutex
	tables []*plainTable
	living map[netip.Addr]bool // addresses of machines
	unseen map[netip.Addr]bool // those that a list of machines leaves out
	// unknown is why nothing can be listed, unlisted why machines cannot, refused why nothing can be written.
	unknown, unlisted, refused error
	quota                      int // routes of a table; 0: any number
	made                       int
	looks, lists               int
	writes                     []string
	aged                       []cloud.RouteTable // what a look shows that need not be new; nil: what there is
	replaceRefused             error
	cursed                     string                        // the destination of a route that fails as if all did
	closed                     string                        // a table that refuses all
	posing                     string                        // a Node of which only its own word says where it runs
	bad                        func(destination string) bool // says which routes cannot be made; nil: all can
	unserved                   map[string]string
	unshown                    map[string]bool // Nodes whose machines the cloud does not show
	placing                    time.Duration   // how long it takes to say where Nodes are
	looking, making            time.Duration   // how long a look takes, and a creation
}

// What can be counted of a cloud.
func looks(p *plain) int  { return p.looks }
func lists(p *plain) int  { return p.lists }
func writes(p *plain) int { return len(p.writes) }

// counted is a number that the controller may change at any time.
func (p *plain) counted(what func(*plain) int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return what(p)
}

type plainTable struct {
	cloud.RouteTable
	hidden map[netip.Prefix]bool // by a list that is behind
}

func newPlain() *plain {
	return &plain{tables: []*plainTable{{RouteTable: cloud.RouteTable{ID: "main", Name: "main", Used: true}}},
		living: map[netip.Addr]bool{}}
}

func (p *plain) Behaviour() cloud.RouteBehaviour {
	return cloud.RouteBehaviour{DriftPeriod: driftPeriod}
}

func (p *plain) Owns(n *corev1.Node) bool { return !strings.HasPrefix(n.Spec.ProviderID, "aws://") }

// Members are all Nodes but those of another cloud.
func (p *plain) Members(_ context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	p.mu.Lock()
	pause, unshown, posing := p.placing, p.unshown, p.posing
	p.mu.Unlock()
	<-time.After(pause)
	members := membersOf(slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !p.Owns(n) }))
	for at, member := range members {
		members[at].Confirmed = member.Node.Name != posing
		if unshown[member.Node.Name] {
			members[at] = cloud.RouteMember{Node: member.Node}
		}
	}
	return members, nil
}

func (p *plain) List(_ context.Context, _ cloud.PodNetwork, maxAge time.Duration) (cloud.RouteTables, error) {
	p.mu.Lock()
	pause := p.looking
	p.mu.Unlock()
	<-time.After(pause)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	if maxAge <= 0 {
		p.lists++
	}
	if p.unknown != nil {
		return cloud.RouteTables{}, p.unknown
	}
	if maxAge > 0 && p.aged != nil {
		return cloud.RouteTables{Tables: p.aged, UnknownTables: p.unserved}, nil
	}
	var tables []cloud.RouteTable
	for _, t := range p.tables {
		table := t.RouteTable
		table.Routes = slices.DeleteFunc(slices.Clone(t.Routes), func(f cloud.ActualRoute) bool {
			return t.hidden[f.Destination]
		})
		tables = append(tables, table)
	}
	return cloud.RouteTables{Tables: tables, UnknownTables: p.unserved}, nil
}

func (p *plain) FreeAddresses(_ context.Context, _ cloud.PodNetwork, addresses []netip.Addr) ([]netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool {
		return p.living[a] && !p.unseen[a]
	}), cmp.Or(p.unknown, p.unlisted)
}

func (p *plain) table(id string) *plainTable {
	return p.tables[slices.IndexFunc(p.tables, func(t *plainTable) bool { return t.ID == id })]
}

func (p *plain) write(text string, do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, text)
	if p.refused != nil {
		return p.refused
	}
	return do()
}

func (p *plain) Create(_ context.Context, table string, r cloud.Route) error {
	p.mu.Lock()
	pause := p.making
	p.mu.Unlock()
	<-time.After(pause)
	return p.write(fmt.Sprintf("create %s %s by %s", table, r.Destination, r.Gateway), func() error {
		if p.cursed == r.Destination.String() || p.closed == table {
			return &cloud.RouteProblem{ReadOnly: true, Err: errors.New("away")}
		}
		if p.bad != nil && p.bad(r.Destination.String()) {
			return errors.New("no such address")
		}
		t := p.table(table)
		if p.quota > 0 && len(t.Routes) >= p.quota {
			return &cloud.RouteProblem{Reason: cloud.RouteQuotaExceeded, TableFull: true,
				Err: errors.New("no more routes")}
		}
		p.made++
		t.Routes = append(t.Routes, cloud.ActualRoute{Destination: r.Destination, Gateway: r.Gateway, Handle: p.made})
		return nil
	})
}

func (p *plain) Change(_ context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	return p.write(fmt.Sprintf("change %s %s from %s to %s", table, from.Destination, from.Gateway, to.Gateway),
		func() error {
			t := p.table(table)
			at := slices.Index(t.Routes, from)
			if at < 0 {
				return errors.New("no such route")
			}
			t.Routes[at].Gateway = to.Gateway
			return nil
		})
}

func (p *plain) Delete(_ context.Context, table string, r cloud.ActualRoute) error {
	return p.write(fmt.Sprintf("delete %s %s by %s", table, r.Destination, target(r)), func() error {
		t := p.table(table)
		t.Routes = slices.DeleteFunc(t.Routes, func(f cloud.ActualRoute) bool { return f == r })
		return nil
	})
}

func (p *plain) Replace(_ context.Context, table string, cidrs []netip.Prefix, routes []cloud.Route) error {
	return p.write(fmt.Sprintf("replace %s by %d", table, len(routes)), func() error {
		if p.replaceRefused != nil {
			return p.replaceRefused
		}
		t := p.table(table)
		t.Routes = slices.DeleteFunc(t.Routes, func(f cloud.ActualRoute) bool {
			return cloud.Inside(f.Destination, cidrs)
		})
		for _, r := range routes {
			p.made++
			t.Routes = append(t.Routes, cloud.ActualRoute{Destination: r.Destination, Gateway: r.Gateway,
				Handle: p.made})
		}
		return nil
	})
}

// set changes the cloud.
func (p *plain) set(do func(*plain)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p)
}

// byHand adds a route that nobody of this cluster made.
func (p *plain) byHand(table, destination, gateway string) {
	p.set(func(p *plain) {
		p.made++
		f := cloud.ActualRoute{Destination: netip.MustParsePrefix(destination), Handle: p.made}
		if gateway != "" {
			f.Gateway = netip.MustParseAddr(gateway)
		}
		t := p.table(table)
		t.Routes = append(t.Routes, f)
	})
}

// loses removes a route by hand.
func (p *plain) loses(table, destination string) {
	p.set(func(p *plain) {
		t := p.table(table)
		t.Routes = slices.DeleteFunc(t.Routes, func(f cloud.ActualRoute) bool {
			return f.Destination.String() == destination
		})
	})
}

// driftPeriod is the one of the tests.
const driftPeriod = 5 * time.Minute

// rig is a cluster, in virtual time, whose routes a controller keeps in a plain cloud.
type rig struct {
	*testing.T
	cloud   *plain
	cluster *fake.Clientset
	process *workerpooltest.Process
	cidrs   []netip.Prefix
	period  time.Duration
	// shortest are the shortest prefixes that get a route.
	shortest nodeipam.Masks
	made     int
	running  *Controller
}

// inRig runs a test in a synctest bubble, in a cluster whose pods are in 10.244.0.0/16 and fd00:244::/48.
func inRig(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cloud: newPlain(), cluster: fake.NewClientset(), process: workerpooltest.New(t),
			cidrs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/48")}}
		test(r)
	})
}

// start begins a process, after the one before has ended.
func (r *rig) start() { r.startWith(r.cloud) }

func (r *rig) startWith(provider cloud.Routes) {
	r.Helper()
	r.process.Begin(r.cluster, func(factory informers.SharedInformerFactory) (run func(context.Context), err error) {
		r.running, err = New(Options{Provider: provider, Client: r.cluster, Nodes: factory.Core().V1().Nodes(),
			CIDRs: r.cidrs, Period: r.period, Domain: "k8s.example.com", Shortest: r.shortest,
			Recorder: r.process.Recorder})
		return r.running.Run, err
	})
	r.settle()
}

// settle waits until all that can be done within a few seconds is done.
func (r *rig) settle() { workerpooltest.Pass(3 * time.Second) }

// later waits until something that happened a moment ago has been looked for.
func (r *rig) later() { workerpooltest.Pass(driftPeriod) }

// node is a Node with these networks of pods.
func node(name, address string, cidrs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	for one := range strings.FieldsSeq(address) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: one})
	}
	return n
}

// join adds Nodes, and the machines they run on.
func (r *rig) join(nodes ...*corev1.Node) {
	r.Helper()
	for _, n := range nodes {
		r.made++
		n.CreationTimestamp, n.ResourceVersion = metav1.NewTime(time.Now().Add(time.Duration(r.made)*time.Second)), ""
		if _, err := r.cluster.CoreV1().Nodes().Create(r.Context(), n, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
		r.cloud.set(func(p *plain) {
			for _, address := range cloud.InternalAddresses(n) {
				p.living[address] = true
			}
		})
	}
}

func (r *rig) node(name string) *corev1.Node {
	r.Helper()
	return workerpooltest.Node(r, r.cluster, name)
}

func (r *rig) changeNode(name string, change func(*corev1.Node)) {
	r.Helper()
	workerpooltest.ChangeNode(r, r.cluster, name, change)
}

// leave deletes a Node. Its machine stays.
func (r *rig) leave(name string) {
	r.Helper()
	workerpooltest.DeleteNode(r, r.cluster, name)
}

// end takes a machine away.
func (r *rig) end(address string) {
	r.cloud.set(func(p *plain) { delete(p.living, netip.MustParseAddr(address)) })
}

// has are the routes of the cloud, sorted.
func (r *rig) has() string {
	var all []string
	r.cloud.set(func(p *plain) {
		for _, t := range p.tables {
			for _, f := range t.Routes {
				all = append(all, fmt.Sprintf("%s %s by %s", t.ID, f.Destination, target(f)))
			}
		}
	})
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// wrote are the writes to the cloud since the last time; those of one pass are in no order, and therefore sorted.
func (r *rig) wrote() string {
	var writes []string
	r.cloud.set(func(p *plain) { writes, p.writes = p.writes, nil })
	slices.Sort(writes)
	return strings.Join(writes, ", ")
}

// told are the events since the last time, as "Type Reason".
func (r *rig) told() string {
	told := r.process.Told()
	for i, event := range told {
		told[i] = strings.Join(strings.SplitN(event, " ", 3)[:2], " ")
	}
	slices.Sort(told)
	return strings.Join(told, ", ")
}

// condition is NodeNetworkUnavailable of a Node, as "Status Reason".
func (r *rig) condition(name string) string {
	r.Helper()
	s := available(r.node(name))
	return strings.TrimSpace(string(s.status) + " " + s.reason)
}

// patches is how many patches of Nodes were made since the last time.
func (r *rig) patches() int {
	count := 0
	for _, action := range r.cluster.Actions() {
		if action.GetVerb() == "patch" && action.GetSubresource() == "status" {
			count++
		}
	}
	r.cluster.ClearActions()
	return count
}

// want compares.
func wantIs[T comparable](r *rig, what string, got, wanted T) {
	r.Helper()
	if got != wanted {
		r.Errorf("%s:\n got %v\nwant %v", what, got, wanted)
	}
}

// membersOf returns all nodes as members, with the addresses in their status.
func membersOf(nodes []*corev1.Node) []cloud.RouteMember {
	members := make([]cloud.RouteMember, 0, len(nodes))
	for _, node := range nodes {
		members = append(members, cloud.RouteMember{
			Node: node, Known: true, Confirmed: true, Addresses: cloud.InternalAddresses(node),
		})
	}
	return members
}
