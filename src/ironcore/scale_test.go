package ironcore

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// largeCluster has many Nodes and Services.
type largeCluster struct {
	*wholeCluster
	nodes, services int
}

// newLargeCluster returns a cluster without objects, whose processes work on several at a time.
func newLargeCluster(tb testing.TB, selector bool, nodes, services int) *largeCluster {
	tb.Helper()
	u := newUserView(tb, selector)
	u.server = simulator.New(simulator.Options{Namespace: testNamespace, Network: testNetwork, Provision: provision,
		Deletion: provision, Routing: time.Second})
	c := newWholeCluster(u, testConfig())
	c.workers, c.rate, c.network.guard = 10, c.config.API.RequestsPerSecond, nil
	return &largeCluster{c, nodes, services}
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// join adds the Nodes with these numbers, and their machines.
func (c *largeCluster) join(from, to int) {
	c.t.Helper()
	for i := from; i < to; i++ {
		addNode(nodeName(i), i)(c.wholeCluster)
	}
}

// numbered returns one of many Services.
func numbered(i int) *corev1.Service {
	return service(func(s *corev1.Service) {
		s.Name, s.UID = fmt.Sprintf("web-%04d", i), types.UID(fmt.Sprintf("%08d-1111-2222-3333-444444444444", i))
	})
}

// eachService calls do for all Services.
func (c *largeCluster) eachService(do func(*corev1.Service) error) {
	c.t.Helper()
	for i := range c.services {
		if err := do(numbered(i)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// withoutAddress counts the Services that have no address.
func (c *largeCluster) withoutAddress() int {
	count := 0
	for _, one := range c.objects.Services() {
		if len(one.Status.LoadBalancer.Ingress) == 0 {
			count++
		}
	}
	return count
}

// counted are requests by what they are.
type counted struct {
	lists, calls float64 // to IronCore, without watches
	patches      float64 // writes to Kubernetes
	balancers    float64 // writes of load balancers and their routings
}

// count returns the requests since the last time.
func (c *largeCluster) count() counted {
	var found counted
	calls, _, _ := c.network.end()
	for _, one := range calls {
		switch {
		case !one.cloud && one.write():
			found.patches++
		case !one.cloud:
		case one.lists:
			found.lists++
		case !one.watch():
			found.calls++
		}
		if one.cloud && one.write() && strings.HasPrefix(one.object, "loadbalancer") {
			found.balancers++
		}
	}
	c.network.begin(nil)
	return found
}

// within checks that figures are within their budgets.
func (c *largeCluster) within(figures map[string]float64) {
	c.t.Helper()
	for name, figure := range figures {
		b, err := budget.Named(name)
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Logf("%s: %s %s", name, budget.Format(figure), b.Unit)
		if !b.Kept(figure) {
			c.t.Errorf("%s (%s): %s %s, at most %s", b.Name, b.Work, budget.Format(figure), b.Unit,
				budget.Format(b.Limit))
		}
	}
}

// eachMode runs a test in virtual time in both modes: prefix is a part of the names of budgets.
func eachMode(t *testing.T, nodes, services int, test func(c *largeCluster, prefix string)) {
	t.Helper()
	for mode, prefix := range map[string]string{"destinations": "", "selector": "selector-"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newLargeCluster(t, prefix != "", nodes, services)
				c.join(0, nodes)
				c.begin()
				defer func() { c.stop() }()
				test(c, prefix)
			})
		})
	}
}

// TestBudgetsOfALargeCluster: it costs nothing while nothing changes, and one list of each kind of object when the
// process starts.
func TestBudgetsOfALargeCluster(t *testing.T) {
	t.Parallel()
	eachMode(t, tierSize().largeNodes, tierSize().largeServices, func(c *largeCluster, prefix string) {
		c.budgetOfInitialisation()
		c.budgetOfCreation(prefix)
		c.budgetOfRestart()
		c.budgetOfQuiet()
	})
}

// TestBudgetsOfChanges: however many Nodes join or leave within a second, each load balancer is written once, and not
// at all if IronCore chooses the destinations.
func TestBudgetsOfChanges(t *testing.T) {
	t.Parallel()
	const nodes, services = 50, 20
	eachMode(t, nodes, services, func(c *largeCluster, prefix string) {
		c.budgetOfInitialisation()
		c.budgetOfCreation(prefix)
		c.budgetOfNodes(prefix)
		c.budgetOfDeletion()
	})
}

func (c *largeCluster) budgetOfInitialisation() {
	pass(3 * time.Minute)
	did := c.count()
	c.within(map[string]float64{"ironcore-initialise-calls": did.calls / float64(c.nodes),
		"ironcore-initialise-patches": did.patches / float64(c.nodes)})
}

func (c *largeCluster) budgetOfCreation(prefix string) {
	c.t.Helper()
	began := time.Now()
	c.eachService(func(s *corev1.Service) error { return c.objects.Create(s) })
	for c.withoutAddress() > 0 {
		if pass(time.Second); time.Since(began) > time.Hour {
			c.t.Fatalf("%d Services have no address", c.withoutAddress())
		}
	}
	c.within(map[string]float64{"ironcore-create-seconds": time.Since(began).Seconds(),
		"ironcore-create-" + prefix + "writes": c.count().balancers / float64(c.services)})
}

func (c *largeCluster) budgetOfRestart() {
	c.t.Helper()
	pass(time.Minute)
	c.stop()
	c.count()
	c.begin()
	pass(time.Minute)
	did := c.count()
	c.within(map[string]float64{"ironcore-restart-lists": did.lists, "ironcore-restart-calls": did.calls + did.patches})
}

func (c *largeCluster) budgetOfQuiet() {
	c.t.Helper()
	c.eachService(func(s *corev1.Service) error {
		return c.objects.Change(s, func(object cluster.Object) {
			object.SetAnnotations(map[string]string{"example.com/unused": "1"})
		})
	})
	pass(time.Minute)
	did := c.count()
	c.within(map[string]float64{"ironcore-unchanged-calls": did.lists + did.calls + did.patches})
	pass(time.Hour)
	did = c.count()
	c.within(map[string]float64{"ironcore-quiet-calls": did.lists + did.calls + did.patches})
}

func (c *largeCluster) budgetOfNodes(prefix string) {
	c.t.Helper()
	name, next := "ironcore-nodes-"+prefix+"writes", c.nodes
	for _, number := range []int{1, 20} {
		c.join(next, next+number)
		next += number
		pass(time.Minute)
		c.within(map[string]float64{name: c.count().balancers / float64(c.services)})
	}
	for i := range 5 {
		c.remove(node(nodeName(i)))
	}
	pass(time.Minute)
	c.within(map[string]float64{name: c.count().balancers / float64(c.services)})
	for _, one := range c.server.LoadBalancerRoutings() {
		want(c.t, "destinations of "+one.Name, len(one.Destinations), next-5)
	}
}

func (c *largeCluster) budgetOfDeletion() {
	c.t.Helper()
	c.eachService(func(s *corev1.Service) error { return c.objects.Delete(s) })
	pass(5 * time.Minute)
	deletions, requests := map[string]int{}, 0
	calls, _, _ := c.network.end()
	for _, one := range calls {
		if one.cloud && !one.watch() {
			requests++
		}
		if one.method == http.MethodDelete {
			deletions[one.object]++
		}
	}
	total := 0
	for object, times := range deletions {
		want(c.t, "deletions of "+object, times, 1)
		total += times
	}
	want(c.t, "load balancers", len(c.server.LoadBalancers()), 0)
	want(c.t, "Services", len(c.objects.Services()), 0)
	c.within(map[string]float64{"ironcore-delete-writes": float64(total) / float64(c.services),
		"ironcore-delete-requests": float64(requests) / float64(c.services)})
}
