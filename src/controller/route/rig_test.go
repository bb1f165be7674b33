package route

import (
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

// fakeCloud is a cloud with route tables. Tests can change its routes by hand.
type fakeCloud struct {
	mu     sync.Mutex
	tables []*fakeTable
	// readError is the error of List, writeError that of all writes.
	readError, writeError  error
	quota                  int // routes of a table; 0: any number
	lastHandle             int
	listCalls, newLists    int
	writes                 []string
	cached                 []cloud.RouteTable            // what List returns if it may be cached; nil: tables
	refusedRoute           string                        // a destination whose error is OfTable
	refusingTable          string                        // a table that refuses all writes
	unconfirmed            string                        // a Node that is not confirmed to run on its machine
	refuses                func(destination string) bool // says which routes cannot be created; nil: none
	unknownTables          map[string]string
	unknownMachines        map[string]bool // Nodes whose machines the cloud does not show
	membersDelay           time.Duration   // duration of Members
	listDelay, createDelay time.Duration   // durations of List and Create
}

// Counters of a cloud.
func listCalls(c *fakeCloud) int { return c.listCalls }
func newLists(c *fakeCloud) int  { return c.newLists }
func writes(c *fakeCloud) int    { return len(c.writes) }

// count is the value of a counter, which the controller may change at any time.
func (c *fakeCloud) count(what func(*fakeCloud) int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return what(c)
}

type fakeTable struct {
	cloud.RouteTable
	hidden map[netip.Prefix]bool // not contained in lists yet
}

func newFakeCloud() *fakeCloud {
	return &fakeCloud{tables: []*fakeTable{{RouteTable: cloud.RouteTable{ID: "main", Name: "main", Used: true}}}}
}

func (c *fakeCloud) Behaviour() cloud.RouteBehaviour {
	return cloud.RouteBehaviour{DriftPeriod: driftPeriod}
}

func (c *fakeCloud) Owns(n *corev1.Node) bool { return !strings.HasPrefix(n.Spec.ProviderID, "aws://") }

// Members returns all Nodes except those of another cloud.
func (c *fakeCloud) Members(_ context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	c.mu.Lock()
	delay, unknownMachines, unconfirmed := c.membersDelay, c.unknownMachines, c.unconfirmed
	c.mu.Unlock()
	<-time.After(delay)
	members := membersOf(slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !c.Owns(n) }))
	for at, member := range members {
		members[at].Confirmed = member.Node.Name != unconfirmed
		if unknownMachines[member.Node.Name] {
			members[at] = cloud.RouteMember{Node: member.Node}
		}
	}
	return members, nil
}

func (c *fakeCloud) List(_ context.Context, _ cloud.PodNetwork, maxAge time.Duration) (cloud.RouteTables, error) {
	c.mu.Lock()
	delay := c.listDelay
	c.mu.Unlock()
	<-time.After(delay)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listCalls++
	if maxAge <= 0 {
		c.newLists++
	}
	if c.readError != nil {
		return cloud.RouteTables{}, c.readError
	}
	if maxAge > 0 && c.cached != nil {
		return cloud.RouteTables{Tables: c.cached, UnknownTables: c.unknownTables}, nil
	}
	var tables []cloud.RouteTable
	for _, t := range c.tables {
		table := t.RouteTable
		table.Routes = slices.DeleteFunc(slices.Clone(t.Routes), func(f cloud.ActualRoute) bool {
			return t.hidden[f.Destination]
		})
		tables = append(tables, table)
	}
	return cloud.RouteTables{Tables: tables, UnknownTables: c.unknownTables}, nil
}

func (c *fakeCloud) table(id string) *fakeTable {
	return c.tables[slices.IndexFunc(c.tables, func(t *fakeTable) bool { return t.ID == id })]
}

func (c *fakeCloud) write(text string, do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, text)
	if c.writeError != nil {
		return c.writeError
	}
	return do()
}

func (c *fakeCloud) Create(_ context.Context, table string, r cloud.Route) error {
	c.mu.Lock()
	delay := c.createDelay
	c.mu.Unlock()
	<-time.After(delay)
	return c.write(fmt.Sprintf("create %s %s by %s", table, r.Destination, r.Gateway), func() error {
		if c.refusedRoute == r.Destination.String() || c.refusingTable == table {
			return &cloud.RouteProblem{OfTable: true, Err: errors.New("away")}
		}
		if c.refuses != nil && c.refuses(r.Destination.String()) {
			return errors.New("no such address")
		}
		t := c.table(table)
		if c.quota > 0 && len(t.Routes) >= c.quota {
			return &cloud.RouteProblem{Reason: cloud.RouteQuotaExceeded, OfTable: true,
				Err: errors.New("no more routes")}
		}
		c.lastHandle++
		t.Routes = append(t.Routes, cloud.ActualRoute{Destination: r.Destination, Gateway: r.Gateway,
			Handle: c.lastHandle})
		return nil
	})
}

func (c *fakeCloud) Change(_ context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	return c.write(fmt.Sprintf("change %s %s from %s to %s", table, from.Destination, from.Gateway, to.Gateway),
		func() error {
			t := c.table(table)
			at := slices.Index(t.Routes, from)
			if at < 0 {
				return errors.New("no such route")
			}
			t.Routes[at].Gateway = to.Gateway
			return nil
		})
}

func (c *fakeCloud) Delete(_ context.Context, table string, r cloud.ActualRoute) error {
	return c.write(fmt.Sprintf("delete %s %s by %s", table, r.Destination, nextHop(r)), func() error {
		t := c.table(table)
		t.Routes = slices.DeleteFunc(t.Routes, func(f cloud.ActualRoute) bool { return f == r })
		return nil
	})
}

// set changes the cloud.
func (c *fakeCloud) set(do func(*fakeCloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c)
}

// createByHand adds an unmanaged route.
func (c *fakeCloud) createByHand(table, destination, gateway string) {
	c.set(func(c *fakeCloud) {
		c.lastHandle++
		f := cloud.ActualRoute{Destination: netip.MustParsePrefix(destination), Handle: c.lastHandle}
		if gateway != "" {
			f.Gateway = netip.MustParseAddr(gateway)
		}
		t := c.table(table)
		t.Routes = append(t.Routes, f)
	})
}

// deleteByHand deletes a route.
func (c *fakeCloud) deleteByHand(table, destination string) {
	c.set(func(c *fakeCloud) {
		t := c.table(table)
		t.Routes = slices.DeleteFunc(t.Routes, func(f cloud.ActualRoute) bool {
			return f.Destination.String() == destination
		})
	})
}

// driftPeriod is the period of the fake cloud.
const driftPeriod = 5 * time.Minute

// rig is a cluster in virtual time, whose routes in a fake cloud a controller reconciles.
type rig struct {
	*testing.T
	cloud   *fakeCloud
	cluster *fake.Clientset
	process *workerpooltest.Process
	cidrs   []netip.Prefix
	period  time.Duration
	// recovered reports the ends of outages; nil if the cloud does not.
	recovered cloud.Recovery
	// shortest are the shortest prefixes that get a route.
	shortest nodeipam.Masks
	made     int
	running  *Controller
}

// inRig runs a test in a synctest bubble, in a cluster whose pods are in 10.244.0.0/16 and fd00:244::/48.
func inRig(t *testing.T, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cloud: newFakeCloud(), cluster: workerpooltest.NewClient(), process: workerpooltest.New(t),
			cidrs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/48")}}
		test(r)
	})
}

// start starts a process, after the one before has ended.
func (r *rig) start() { r.startWith(r.cloud) }

func (r *rig) startWith(provider cloud.Routes) {
	r.Helper()
	r.process.Begin(r.cluster, func(factory informers.SharedInformerFactory) (run func(context.Context), err error) {
		r.running, err = New(Options{Provider: provider, Recovered: r.recovered, Client: r.cluster,
			Nodes: factory.Core().V1().Nodes(),
			CIDRs: r.cidrs, Period: r.period, Domain: "k8s.example.com", Shortest: r.shortest,
			Recorder: r.process.Recorder})
		return r.running.Run, err
	})
	r.settle()
}

// settle waits until all that can be done within a few seconds is done.
func (r *rig) settle() { workerpooltest.Pass(3 * time.Second) }

// nextPeriod waits for the next check for drift.
func (r *rig) nextPeriod() { workerpooltest.Pass(driftPeriod) }

// node returns a Node with these pod networks.
func node(name, address string, cidrs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
	for one := range strings.FieldsSeq(address) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: one})
	}
	return n
}

// join adds Nodes.
func (r *rig) join(nodes ...*corev1.Node) {
	r.Helper()
	for _, n := range nodes {
		r.made++
		n.CreationTimestamp, n.ResourceVersion = metav1.NewTime(time.Now().Add(time.Duration(r.made)*time.Second)), ""
		if _, err := r.cluster.CoreV1().Nodes().Create(r.Context(), n, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
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

// deleteNode deletes a Node.
func (r *rig) deleteNode(name string) {
	r.Helper()
	workerpooltest.DeleteNode(r, r.cluster, name)
}

// routes are the routes in the cloud, sorted.
func (r *rig) routes() string {
	var all []string
	r.cloud.set(func(c *fakeCloud) {
		for _, t := range c.tables {
			for _, f := range t.Routes {
				all = append(all, fmt.Sprintf("%s %s by %s", t.ID, f.Destination, nextHop(f)))
			}
		}
	})
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// writes are the writes to the cloud since the last call, sorted, because those of one sync have no order.
func (r *rig) writes() string {
	var writes []string
	r.cloud.set(func(c *fakeCloud) { writes, c.writes = c.writes, nil })
	slices.Sort(writes)
	return strings.Join(writes, ", ")
}

// events are the events since the last call, as "Type Reason".
func (r *rig) events() string {
	events := r.process.Events()
	for i, event := range events {
		events[i] = strings.Join(strings.SplitN(event, " ", 3)[:2], " ")
	}
	slices.Sort(events)
	return strings.Join(events, ", ")
}

// condition is NetworkUnavailable of a Node, as "Status Reason".
func (r *rig) condition(name string) string {
	r.Helper()
	c := conditionOf(r.node(name))
	return strings.TrimSpace(string(c.status) + " " + c.reason)
}

// patches is the number of patches of Nodes since the last call.
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

// wantIs compares two values.
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
