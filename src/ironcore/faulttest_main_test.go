package ironcore

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

const (
	// quiet is how long nothing happens when all is done: longer than the longest pause after a failure.
	quiet = 5*time.Minute + 30*time.Second
	// shortly is how long nothing happens without disturbance.
	shortly = time.Minute
	// tooLate is when a step should have had its effect, whatever is disturbed.
	tooLate = time.Hour
)

// TestMain changes what is global. Nothing is logged, because failures are what most of these tests cause.
// For a benchmark, it is IronCore.
func TestMain(m *testing.M) {
	if machines := os.Getenv(ironcoreEnvironment); machines != "" {
		if err := serveIronCore(machines); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	utilruntime.ErrorHandlers = nil
	klog.SetLogger(klog.Logger{})
	os.Exit(m.Run())
}

// outcome is what a story has led to.
type outcome struct {
	states []string // after the first process has begun, and after each step
	calls  []call
	hits   int
	writes []string
}

// run lets a story happen with a disturbance, and compares it with the undisturbed one; nil for that one itself.
func (s story) run(t *testing.T, selector bool, disturb func(call) *failureMode, undisturbed *outcome) outcome {
	t.Helper()
	c := s.stage(t, selector)
	defer c.stop()
	c.network.begin(disturb)
	var got outcome
	c.begin()
	for i := range len(s.steps) + 1 {
		if i > 0 {
			s.steps[i-1](c)
		}
		expected := ""
		if undisturbed != nil {
			expected = undisturbed.states[i]
		}
		pause := quiet
		if c.network.undisturbed() {
			pause = shortly
		}
		got.states = append(got.states, c.settle(pause, expected))
		if t.Failed() {
			break
		}
	}
	got.calls, got.hits, got.writes = c.network.end()
	if !t.Failed() {
		c.wantIdle("after the story")
		c.stop()
		c.alive()
		c.wantIdle("after a restart")
	}
	for _, problem := range c.network.guard.problems() {
		t.Error(problem)
	}
	return got
}

// stage returns a cluster in which everything has happened that is before the story, and no process runs.
func (s story) stage(t *testing.T, selector bool) *wholeCluster {
	t.Helper()
	c := newWholeCluster(newUserView(t, selector), testConfig())
	c.addForeign()
	for i, name := range []string{"a", "b"} {
		addNode(name, i+1)(c)
	}
	c.server.ChangeNetworkInterface(interfaceOf("a"), func(n *networkingv1alpha1.NetworkInterface) {
		n.Spec.Prefixes = []networkingv1alpha1.PrefixSource{ephemeral(),
			static(netip.MustParsePrefix("192.168.7.0/24"))}
	})
	if s.prepare != nil {
		s.prepare(c)
	}
	pass(2 * provision)
	c.begin()
	c.settle(shortly, "")
	for _, step := range s.before {
		step(c)
		c.settle(shortly, "")
	}
	c.stop()
	return c
}

// addForeign adds what belongs to others: a load balancer of a person, one of another cluster, and a machine of that.
func (c *wholeCluster) addForeign() {
	spec := networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
		IPFamilies:               []corev1.IPFamily{corev1.IPv4Protocol},
		NetworkRef:               corev1.LocalObjectReference{Name: testNetwork},
		NetworkInterfaceSelector: label.NoInterface()}
	c.server.Add(&networkingv1alpha1.LoadBalancer{Spec: spec,
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: foreign + "-person"}})
	owner := label.Owner{Cluster: "green", UID: serviceUID,
		Service: types.NamespacedName{Namespace: "shop", Name: "web"}}
	c.server.Add(&networkingv1alpha1.LoadBalancer{Spec: spec, ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace,
		Name: foreign + "-green", Annotations: owner.Annotations()}})
	c.server.AddMachine(simulator.Machine{Name: foreign + "-green",
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.9.9")}, Labels: map[string]string{label.Cluster: "green"},
		Prefixes: []netip.Prefix{pods(200)}})
	c.server.ChangeNetworkInterface(interfaceOf(foreign+"-green"), func(n *networkingv1alpha1.NetworkInterface) {
		n.Annotations = map[string]string{label.Routes: "green " + pods(200).String()}
	})
}

// settle lets time pass until nothing has happened for some time, and the state is the expected one; "" expects any. It
// starts a process when one ends. It returns the state.
func (c *wholeCluster) settle(quiet time.Duration, expected string) string {
	c.t.Helper()
	began := time.Now()
	for {
		select {
		case <-c.process.duty.Done():
			c.alive()
			continue
		case <-time.After(max(quiet-min(c.network.idle(), time.Since(began)), 10*time.Second)):
		}
		if min(c.network.idle(), time.Since(began)) < quiet {
			continue
		}
		state := c.snapshot()
		switch {
		case expected == "" || state == expected:
			return state
		case time.Since(began) > tooLate:
			c.t.Errorf("after %s, this is not as it should be (-want +got):\n%s", tooLate,
				gocmp.Diff(strings.Split(expected, "\n"), strings.Split(state, "\n")))
			return state
		}
	}
}

// wantIdle checks that nothing is written, although objects are compared.
func (c *wholeCluster) wantIdle(when string) {
	c.t.Helper()
	c.network.begin(nil)
	pass(quiet)
	if _, _, writes := c.network.end(); len(writes) > 0 {
		c.t.Errorf("writes %s: %s", when, strings.Join(writes, ", "))
	}
}

// disturbance is what happens to the requests of one test.
type disturbance struct {
	name string
	at   func(call) *failureMode
	// certain says that a request is disturbed in any case.
	certain bool
}

// each runs all stories, once undisturbed, and with each of the disturbances that are made of their calls. It tries one
// of share disturbances.
func each(t *testing.T, share int, of func([]call) []disturbance) {
	t.Helper()
	for _, s := range stories() {
		for mode, selector := range map[string]bool{"destinations": false, "selector": true} {
			t.Run(s.name+", "+mode, func(t *testing.T) {
				t.Parallel()
				s.each(t, selector, share, of)
			})
		}
	}
}

func (s story) each(t *testing.T, selector bool, share int, of func([]call) []disturbance) {
	t.Helper()
	var undisturbed outcome
	synctest.Test(t, func(t *testing.T) {
		undisturbed = s.run(t, selector, nil, nil)
		end := undisturbed.states[len(undisturbed.states)-1]
		wantText(t, "the end", end, s.has)
		if s.hasNot != "" && strings.Contains(end, s.hasNot) {
			t.Errorf("%q is in\n%s", s.hasNot, end)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	first := len(t.Name()) % share // other ones in each story
	for i, d := range of(undisturbed.calls) {
		if i%share != first {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := s.run(t, selector, d.at, &undisturbed)
				if d.certain && got.hits == 0 {
					t.Error("no request was disturbed: there were others than without disturbance")
				}
				got.wantFewWrites(t, undisturbed)
				if t.Failed() {
					t.Logf("calls: %v\nrepeat it: TRIAL_SHARE=1 go test -count=1 -run '%s' ./src/ironcore", got.calls,
						pattern(t.Name()))
				}
			})
		})
	}
}

// wantFewWrites compares the number of writes with that of the undisturbed story. The write to IronCore that was
// disturbed is repeated. A status of a Service is written more often: its conditions show the failure and its end, or a
// wait that is over sooner without disturbance, which depends on which of two watches reports first.
func (o outcome) wantFewWrites(t *testing.T, undisturbed outcome) {
	t.Helper()
	const spare, spareStatuses = 1, 5
	cloud, statuses := o.countWrites()
	cloudBefore, statusesBefore := undisturbed.countWrites()
	if most := cloudBefore + spare*o.hits; cloud > most {
		t.Errorf("%d writes to IronCore, want at most %d: %s", cloud, most, strings.Join(o.writes, ", "))
	}
	if most := statusesBefore + spareStatuses*max(o.hits, 1); statuses > most {
		t.Errorf("%d writes to the cluster, want at most %d: %s", statuses, most, strings.Join(o.writes, ", "))
	}
}

// countWrites returns the number of writes to IronCore, and of those to Services and Nodes of the cluster.
func (o outcome) countWrites() (cloud, cluster int) {
	for _, write := range o.writes {
		if fields := strings.Fields(write); fields[1] == "services" || fields[1] == "nodes" {
			cluster++
		}
	}
	return len(o.writes) - cluster, cluster
}

// pattern returns what runs one subtest and nothing else.
func pattern(name string) string {
	var levels []string
	for level := range strings.SplitSeq(name, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	return strings.Join(levels, "/")
}

// share returns the number of disturbances for each one that is tried.
func share(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("TRIAL_SHARE")
	if text == "" {
		return usual
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		t.Fatalf("TRIAL_SHARE=%s: use a whole number from 1", text)
	}
	return number
}

// single is one failure mode at one call, and at the next ones of the same kind if there are more times.
func single(mode *failureMode, c call, times int) disturbance {
	name := fmt.Sprintf("%s at %s", mode.name, c)
	if times > 1 {
		name = fmt.Sprintf("%s %d times at %s", mode.name, times, c)
	}
	// Whether a routing is deleted, or is garbage before, depends on chance.
	certain := c.method == http.MethodPatch && c.nth == 1
	return disturbance{name: name, certain: certain, at: func(other call) *failureMode {
		if other.method == c.method && other.object == c.object && other.nth >= c.nth && other.nth < c.nth+times {
			return mode
		}
		return nil
	}}
}

// disturbances returns those of failure modes at all calls.
func disturbances(modes []*failureMode, calls []call, times ...int) []disturbance {
	var all []disturbance
	for _, c := range calls {
		for _, mode := range modes {
			if !mode.appliesTo(c) {
				continue
			}
			for _, n := range times {
				all = append(all, single(mode, c, n))
			}
		}
	}
	return all
}

// TestCrash ends the process at every single request of every story, before and after the server has done what it asks
// for.
func TestCrash(t *testing.T) {
	t.Parallel()
	each(t, share(t, tierSize().faultShare), func(calls []call) []disturbance {
		return disturbances(deaths(), calls, 1)
	})
}

// TestHandover stops the process in good order while each of its requests is under way, and the next one does the rest.
func TestHandover(t *testing.T) {
	t.Parallel()
	each(t, share(t, 4*tierSize().faultShare), func(calls []call) []disturbance {
		return disturbances([]*failureMode{relief()}, calls, 1)
	})
}

// TestFaults lets requests of every story fail in every way, once and several times: a sample of all, or all of them
// with TRIAL_SHARE=1.
func TestFaults(t *testing.T) {
	const severalTimes = 4
	t.Parallel()
	each(t, share(t, 24*tierSize().faultShare), func(calls []call) []disturbance {
		return disturbances(failureModes(), calls, 1, severalTimes)
	})
}
