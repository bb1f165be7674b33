package thalassa

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
)

const (
	// routeSteps are the things that happen in one life of routes, and routePause is the longest time between two of
	// them.
	routeSteps = 40
	routePause = time.Minute
	// routesRight is the time after which all routes are right once nothing fails and nobody does anything: a pause
	// after a failure, and a look at the routes.
	routesRight = 11 * time.Minute
)

// TestLivesOfRoutes lets nodes come and go in two subnets, others add and remove routes, and processes change, while
// calls of the cloud fail and lists are old or empty, at random. A route that is right for a living node is never taken
// from it, and none of others is written. In the end, after somebody has deleted what is reported as left behind, the
// tables have exactly the routes of the nodes and those of others. TRIAL_SEED and TRIAL_LIVES say which lives.
func TestLivesOfRoutes(t *testing.T) {
	t.Parallel()
	for seed := range faulttest.Seeds(t, tierSize().routeLives) {
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			inLand(t, emulator.Switches{}, func(l *land) { newNomads(l, seed).live() })
		})
	}
}

// nomads are the nodes of a land, with one in each subnet that never goes.
type nomads struct {
	*land
	dice    *rand.Rand
	weather *weather
	here    []*nomad
	strange string // the address of a machine that is no node
	drawn   int
}

// nomad is a node.
type nomad struct {
	name, machine, destination, gateway string
}

func newNomads(l *land, seed uint64) *nomads {
	l.Helper()
	n := &nomads{land: l, dice: rand.New(rand.NewPCG(seed, 1))}
	n.weather = &weather{next: l.network, api: l.api(), dice: rand.New(rand.NewPCG(seed, 2)),
		strange: map[string]bool{}}
	l.network = n.weather
	var firewall string
	firewall, n.strange = n.machine("")
	n.register("pretender", firewall, []string{n.strange}) // says that it runs there
	n.come("")
	n.come(sideSubnet)
	n.stranger("10.250.0.0/16")
	n.stranger("10.244.255.0/24") // inside the cluster's network, and none of its nodes
	n.hybrid("10.244.254.0/24")
	return n
}

// virtual is an address within the VPC that no machine has.
const virtual = "10.0.100.100"

// hybrid is a node of another cloud that never goes, and a route of somebody to its pods.
func (n *nomads) hybrid(destination string) {
	n.Helper()
	n.register("hybrid", "none", nil, destination)
	n.change("hybrid", func(node *corev1.Node) { node.Spec.ProviderID = "aws:///eu-1a/i-1" })
	n.byHand(mainTable, destination, virtual)
	n.weather.set(func(w *weather) { w.strange[n.identity(mainTable, destination)] = true })
}

func (n *nomads) live() {
	n.begin()
	n.weather.set(func(w *weather) { w.storm = true })
	for range routeSteps {
		n.step()
		n.weather.know(n.here)
		n.wait(time.Duration(n.dice.Int64N(int64(routePause))))
	}
	n.weather.set(func(w *weather) { w.storm = false })
	n.wait(routesRight)
	n.events()
	n.begin() // reports again
	n.tidy(n.events())
	n.wait(routesRight)
	n.checkEnd()
}

// tidy deletes the routes of nodes that are gone, which no process remembers, and which these events report.
func (n *nomads) tidy(events string) {
	n.Helper()
	for _, table := range []string{mainTable, sideTable} {
		found, err := n.api().GetRouteTable(n.Context(), table)
		if err != nil {
			n.Fatal(err)
		}
		for _, one := range found.Routes {
			if n.weather.strange[one.Identity] || slices.ContainsFunc(n.here, func(node *nomad) bool {
				return node.destination == one.DestinationCidrBlock && node.gateway == *one.GatewayAddress
			}) {
				continue
			}
			if !strings.Contains(events, "RouteLeftBehind") && !strings.Contains(events, "RouteConflict") {
				n.Errorf("events %q say nothing of the route to %s in %s", events, one.DestinationCidrBlock, table)
			}
			if err := n.api().DeleteRouteTableRoute(n.Context(), table, one.Identity); err != nil {
				n.Fatal(err)
			}
		}
	}
}

// step is one thing that happens.
func (n *nomads) step() {
	subnet := []string{"", sideSubnet}[n.dice.IntN(2)]
	switch n.dice.IntN(8) {
	case 0, 1, 2:
		n.come(subnet)
	case 3, 4:
		n.depart()
	case 5:
		n.loses([]string{mainTable, sideTable}[n.dice.IntN(2)], n.here[n.dice.IntN(len(n.here))].destination)
	case 6:
		n.begin()
	default:
		n.drawn++
		n.stranger(fmt.Sprintf("10.%d.0.0/16", 100+n.drawn))
	}
}

// machine makes one, and returns its identity and address.
func (n *nomads) machine(subnet string) (id, address string) {
	n.Helper()
	n.drawn++
	id, err := n.emulator.AddMachine(emulator.MachineSpec{Name: fmt.Sprintf("machine-%d", n.drawn), Subnet: subnet})
	if err != nil {
		n.Fatal(err)
	}
	machine, err := n.api().GetMachine(n.Context(), id)
	if err != nil {
		n.Fatal(err)
	}
	at := slices.IndexFunc(machine.Interfaces[0].IPAddresses, func(a string) bool {
		return netip.MustParseAddr(a).Is4()
	})
	return id, machine.Interfaces[0].IPAddresses[at]
}

// come lets a node join, with the first network that is free.
func (n *nomads) come(subnet string) {
	n.Helper()
	id, address := n.machine(subnet)
	// Only every other one is called like its machine, so that routes to the machines of the rest are not the cluster's
	// at sight.
	one := &nomad{name: fmt.Sprintf("%s-%d", []string{"machine", "node"}[n.drawn%2], n.drawn), machine: id,
		gateway: address}
	for i := 1; one.destination == ""; i++ {
		free := fmt.Sprintf("10.244.%d.0/24", i)
		if !slices.ContainsFunc(n.here, func(other *nomad) bool { return other.destination == free }) {
			one.destination = free
		}
	}
	n.register(one.name, id, []string{address}, one.destination)
	n.here = append(n.here, one)
	n.weather.know(n.here)
}

// depart lets a node go that may. Its machine goes with it, or stays.
func (n *nomads) depart() {
	n.Helper()
	const stay = 2 // one in each subnet
	if len(n.here) == stay {
		return
	}
	at := stay + n.dice.IntN(len(n.here)-stay)
	gone := n.here[at]
	n.here = slices.Delete(slices.Clone(n.here), at, at+1)
	n.weather.know(n.here)
	n.leave(gone.name)
	if n.dice.IntN(2) > 0 {
		return
	}
	if err := n.emulator.DeleteMachine(gone.machine); err != nil {
		n.Fatal(err)
	}
}

// stranger makes a route of somebody else in one of the tables.
func (n *nomads) stranger(destination string) {
	n.Helper()
	table := []string{mainTable, sideTable}[n.dice.IntN(2)]
	n.byHand(table, destination, n.strange)
	n.weather.set(func(w *weather) { w.strange[n.identity(table, destination)] = true })
}

// checkEnd says what is not as it should be in the end.
func (n *nomads) checkEnd() {
	n.Helper()
	for _, problem := range n.weather.problems {
		n.Error(problem)
	}
	others := 0
	for _, table := range []string{mainTable, sideTable} {
		has := strings.Split(n.has(table), ", ")
		for _, one := range n.here {
			want := one.destination + " by " + one.gateway
			at := slices.Index(has, want)
			if at < 0 {
				n.Errorf("table %s lacks %s of %s: %v", table, want, one.name, has)
				continue
			}
			has = slices.Delete(has, at, at+1)
		}
		others += len(has)
		for _, left := range has {
			if !strings.HasSuffix(left, " by "+n.strange) && !strings.HasSuffix(left, " by "+virtual) {
				n.Errorf("table %s has %s, which nobody needs", table, left)
			}
		}
	}
	if others != len(n.weather.strange) {
		n.Errorf("others have %d routes, want %d", others, len(n.weather.strange))
	}
	for _, one := range n.here {
		n.is("condition of "+one.name, n.condition(one.name), string(corev1.ConditionFalse)+" RouteCreated")
	}
}

// weather is the way to the cloud. In a storm calls meet faults. It looks at each write before it passes.
type weather struct {
	next http.RoundTripper
	api  *iaas.Client

	mu       sync.Mutex
	dice     *rand.Rand
	storm    bool
	here     []*nomad
	strange  map[string]bool // identities of routes of others
	problems []string
}

func (w *weather) set(change func(*weather)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// know tells it which nodes are here.
func (w *weather) know(here []*nomad) {
	w.set(func(w *weather) { w.here = slices.Clone(here) })
}

// gusts are what can befall a call. The emulator skips those that its kind of call cannot meet.
var gusts = []fault.Effect{
	{Kind: fault.Reset}, {Kind: fault.Drop}, {Kind: fault.Refuse, Status: http.StatusServiceUnavailable},
	{Kind: fault.Forbidden}, {Kind: fault.NotJSON}, {Kind: fault.Truncate}, {Kind: fault.Empty}, {Kind: fault.Partial},
	{Kind: fault.Stale, Delay: 20 * time.Second}, {Kind: fault.DeleteLag, Delay: 20 * time.Second},
}

// RoundTrip implements http.RoundTripper.
func (w *weather) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && path.Base(path.Dir(request.URL.Path)) == "routes" {
		if err := w.inspect(request); err != nil {
			return nil, err
		}
	}
	const percent = 25
	w.set(func(w *weather) {
		if w.storm && w.dice.IntN(100) < percent {
			effect := gusts[w.dice.IntN(len(gusts))]
			request = request.WithContext(fault.With(request.Context(), effect, w.dice.Uint64()))
		}
	})
	return w.next.RoundTrip(request)
}

// inspect looks at a change or removal of a route. What is written once more because an answer was lost changes
// nothing.
func (w *weather) inspect(request *http.Request) error {
	id, to := path.Base(request.URL.Path), iaas.UpdateRouteTableRoute{}
	if request.Method == http.MethodPut {
		body, err := io.ReadAll(request.Body)
		if err != nil || json.Unmarshal(body, &to) != nil {
			return fmt.Errorf("a body that cannot be read: %s, %w", body, err)
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	table, err := w.api.GetRouteTable(request.Context(), path.Base(path.Dir(path.Dir(request.URL.Path))))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.strange[id] {
		w.problems = append(w.problems, request.Method+" of the route of somebody else")
	}
	at := slices.IndexFunc(table.Routes, func(r iaas.RouteEntry) bool {
		return r.Identity == id && r.GatewayAddress != nil
	})
	for _, node := range w.here {
		if at >= 0 && *table.Routes[at].GatewayAddress == node.gateway &&
			table.Routes[at].DestinationCidrBlock == node.destination && to.GatewayAddress != node.gateway {
			w.problems = append(w.problems, fmt.Sprintf("%s of the route to %s that %s needs, to %q", request.Method,
				node.destination, node.name, to.GatewayAddress))
		}
	}
	return nil
}
