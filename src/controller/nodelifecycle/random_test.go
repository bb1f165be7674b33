package nodelifecycle

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestTrials creates and deletes machines at random, with random answers of the cloud: no Node with a running machine
// is ever deleted, and every Node without one is deleted in the end.
func TestTrials(t *testing.T) {
	seeds := tier.Pick(4, 25)
	removed := 0
	for seed := range uint64(seeds) {
		inBubble(t, []string{"m000", "m001", "m002", "m003"}, func(r *rig) {
			if seed%2 == 0 { // otherwise the budget stops removals for long
				r.behaviour.MaxRemovals = 100
				r.start()
			}
			trial := &randomRun{rig: r, dice: rand.New(rand.NewPCG(seed, 1)), answers: rand.New(rand.NewPCG(seed, 2)),
				seed: seed, made: map[string]time.Time{}, next: 4}
			trial.run()
			removed += trial.removed
		})
	}
	if removed < seeds { // otherwise the test proves nothing
		t.Errorf("%d Nodes were removed in %d trials", removed, seeds)
	}
}

// randomRun is one random run.
type randomRun struct {
	*rig
	dice *rand.Rand // of the test's own goroutine
	seed uint64
	next int // number of the next machine
	// Other goroutines have these, too: the lock of fakeCloud guards them.
	answers *rand.Rand
	made    map[string]time.Time            // machines by provider ID
	earlier []map[string]cloud.MachineState // the states of machines, once a minute
	removed int
}

func (t *randomRun) run() {
	t.Helper()
	t.intercept(t.checkDeletions)
	const minutes = 90
	for range minutes {
		t.fakeCloud.set(func(c *fakeCloud) { t.earlier = append(t.earlier, maps.Clone(c.machines)) })
		if t.dice.IntN(6) == 0 {
			t.answerFalsely()
		}
		t.advance()
		t.pass(time.Minute)
	}
	t.fakeCloud.set(func(c *fakeCloud) { c.list, c.confirm, c.checkCredentials = nil, nil, nil })
	t.join("rescue") // a machine that the cloud shows
	t.kubelets(0)
	t.behaviour.MaxRemovals = 100 // as a user does after a check
	t.start()
	t.pass(time.Hour)
	for _, node := range t.cluster.Nodes() {
		if t.fakeCloud.actual(node.Spec.ProviderID) == cloud.MachineGone {
			t.Errorf("seed %d: Node %s is still there in the end: %+v", t.seed, node.Name,
				*t.controller.records[node.UID])
		}
	}
}

// checkDeletions checks each deletion of a Node.
func (t *randomRun) checkDeletions(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	name, deletes := strings.CutPrefix(request.URL.Path, "/api/v1/nodes/")
	id := ""
	for _, node := range t.cluster.Nodes() {
		if node.Name == name {
			id = node.Spec.ProviderID
		}
	}
	response, err := next.RoundTrip(request)
	if deletes && request.Method == http.MethodDelete && err == nil && response.StatusCode == http.StatusOK {
		var state cloud.MachineState
		t.fakeCloud.set(func(c *fakeCloud) {
			t.removed++
			state = c.actual(id)
		})
		if state != cloud.MachineGone {
			t.Errorf("seed %d: Node %s was deleted, and its machine is %s; events %q", t.seed, name, state, t.events())
		}
	}
	return response, err
}

// machines are the existing machines, sorted.
func (t *randomRun) machines() (ids []string) {
	t.fakeCloud.set(func(c *fakeCloud) { ids = slices.Sorted(maps.Keys(c.machines)) })
	return ids
}

// advance is what users, machines and kubelets do in a minute.
func (t *randomRun) advance() {
	t.Helper()
	switch ids := t.machines(); t.dice.IntN(8) {
	case 0:
		name := fmt.Sprintf("m%03d", t.next)
		t.next++
		t.fakeCloud.set(func(*fakeCloud) { t.made[fakeScheme+name] = time.Now() })
		t.join(name)
	case 1, 2:
		if len(ids) > 1 {
			t.machine(ids, cloud.MachineGone)
		}
	case 3:
		t.machine(ids, cloud.MachineStopped)
	case 4:
		t.machine(ids, cloud.MachineRunning)
	case 5:
		t.machine(ids, []cloud.MachineState{cloud.MachineDeleting, cloud.MachineUnknown}[t.dice.IntN(2)])
	case 6:
		if t.dice.IntN(4) == 0 {
			t.start()
		}
	}
	t.kubelets(4)
}

// machine sets the state of one of the machines.
func (t *randomRun) machine(ids []string, state cloud.MachineState) {
	t.fakeCloud.machine(strings.TrimPrefix(ids[t.dice.IntN(len(ids))], fakeScheme), state)
}

// kubelets lets the kubelets of running machines report, except one in some; 0: all report.
func (t *randomRun) kubelets(some int) {
	t.Helper()
	outage := some > 0 && t.dice.IntN(10) == 0
	for _, node := range t.cluster.Nodes() {
		var state cloud.MachineState
		t.fakeCloud.set(func(c *fakeCloud) { state = c.actual(node.Spec.ProviderID) })
		status := corev1.ConditionTrue
		switch {
		case state != cloud.MachineRunning || outage || some > 0 && t.dice.IntN(some) == 0:
			status = corev1.ConditionUnknown
		case some > 0 && t.dice.IntN(some) == 0:
			status = corev1.ConditionFalse
		}
		t.report(node.Name, status)
	}
}

// answerFalsely changes the answers of the cloud. The answers about one machine are not false in every way at once
// while all others are correct: no controller could detect that.
func (t *randomRun) answerFalsely() {
	down := errors.New("the cloud is away")
	lists := []func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error){
		nil,
		func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) { return nil, down },
		func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
			return map[string]cloud.MachineState{}, nil
		},
		func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
			return t.some(truth), nil
		},
		func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
			return t.without(truth, 3*time.Minute), nil
		},
		func(map[string]cloud.MachineState) (map[string]cloud.MachineState, error) {
			return maps.Clone(t.earlier[max(0, len(t.earlier)-20)]), nil
		},
	}
	confirms := []func(string, cloud.MachineState) (cloud.MachineState, error){
		nil,
		func(string, cloud.MachineState) (cloud.MachineState, error) { return "", down },
		func(_ string, truth cloud.MachineState) (cloud.MachineState, error) {
			if t.answers.IntN(2) == 0 {
				return "", down
			}
			return truth, nil
		},
		func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
			if time.Since(t.made[id]) < 3*time.Minute { // not in the list yet
				return cloud.MachineGone, nil
			}
			return truth, nil
		},
	}
	credentialChecks := []func() error{nil, nil, func() error { return down }}
	t.fakeCloud.set(func(c *fakeCloud) {
		c.list, c.confirm, c.checkCredentials = lists[t.dice.IntN(len(lists))], confirms[t.dice.IntN(len(confirms))],
			credentialChecks[t.dice.IntN(len(credentialChecks))]
		if t.dice.IntN(8) == 0 { // another cloud, with valid credentials
			c.list = lists[2]
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
		}
		if t.dice.IntN(8) == 0 { // invalid credentials
			c.list, c.checkCredentials = lists[3], credentialChecks[2]
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
		}
	})
}

// some are a random part of the machines.
func (t *randomRun) some(truth map[string]cloud.MachineState) map[string]cloud.MachineState {
	for _, id := range slices.Sorted(maps.Keys(truth)) {
		if t.answers.IntN(2) == 0 {
			delete(truth, id)
		}
	}
	return truth
}

// without omits machines that are younger.
func (t *randomRun) without(truth map[string]cloud.MachineState, age time.Duration) map[string]cloud.MachineState {
	maps.DeleteFunc(truth, func(id string, _ cloud.MachineState) bool { return time.Since(t.made[id]) < age })
	return truth
}
