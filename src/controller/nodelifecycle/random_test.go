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
)

// TestTrials lets machines come and go, and the cloud say anything, at random: no Node with a living machine is ever
// deleted, and every dead one goes in the end.
func TestTrials(t *testing.T) {
	const seeds = 25
	removed := 0
	for seed := range uint64(seeds) {
		inBubble(t, []string{"m000", "m001", "m002", "m003"}, func(r *rig) {
			if seed%2 == 0 { // else nothing goes for long, because too much would
				r.behaviour.MaxRemovals = 100
				r.start()
			}
			trial := &randomRun{rig: r, dice: rand.New(rand.NewPCG(seed, 1)), seed: seed, born: map[string]time.Time{},
				next: 4}
			trial.run()
			removed += trial.removed
		})
	}
	if removed < seeds { // else nothing was tried
		t.Errorf("%d Nodes were removed in %d trials", removed, seeds)
	}
}

// randomRun is one random run.
type randomRun struct {
	*rig
	dice    *rand.Rand
	seed    uint64
	next    int                             // of the next machine
	born    map[string]time.Time            // machines by provider ID
	past    []map[string]cloud.MachineState // what there was, once a minute
	removed int
}

func (t *randomRun) run() {
	t.Helper()
	t.between(t.watch)
	const minutes = 90
	for range minutes {
		t.fakeCloud.set(func(c *fakeCloud) { t.past = append(t.past, maps.Clone(c.machines)) })
		if t.dice.IntN(6) == 0 {
			t.lie()
		}
		t.live()
		t.pass(time.Minute)
	}
	t.fakeCloud.set(func(c *fakeCloud) { c.list, c.confirm, c.vouch = nil, nil, nil })
	t.join("rescue") // there is something to be seen
	t.kubelets(0)
	t.behaviour.MaxRemovals = 100 // somebody has looked
	t.start()
	t.pass(time.Hour)
	for _, node := range t.cluster.Nodes() {
		if t.fakeCloud.truth(node.Spec.ProviderID) == cloud.MachineGone {
			t.Errorf("seed %d: Node %s is still there in the end: %+v", t.seed, node.Name,
				*t.controller.records[node.UID])
		}
	}
}

// watch sees Nodes go.
func (t *randomRun) watch(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	name, deletes := strings.CutPrefix(request.URL.Path, "/api/v1/nodes/")
	id := ""
	for _, node := range t.cluster.Nodes() {
		if node.Name == name {
			id = node.Spec.ProviderID
		}
	}
	response, err := next.RoundTrip(request)
	if deletes && request.Method == http.MethodDelete && err == nil && response.StatusCode == http.StatusOK {
		t.removed++
		var state cloud.MachineState
		t.fakeCloud.set(func(c *fakeCloud) { state = c.truth(id) })
		if state != cloud.MachineGone {
			t.Errorf("seed %d: Node %s was deleted, and its machine is %s; events %q", t.seed, name, state, t.told())
		}
	}
	return response, err
}

// machines are those that there are, in an order that stays the same.
func (t *randomRun) machines() (ids []string) {
	t.fakeCloud.set(func(c *fakeCloud) { ids = slices.Sorted(maps.Keys(c.machines)) })
	return ids
}

// live is what people, machines and kubelets do in a minute.
func (t *randomRun) live() {
	t.Helper()
	switch ids := t.machines(); t.dice.IntN(8) {
	case 0:
		name := fmt.Sprintf("m%03d", t.next)
		t.next++
		t.born[fakeScheme+name] = time.Now()
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

// machine makes one of the machines something else.
func (t *randomRun) machine(ids []string, state cloud.MachineState) {
	t.fakeCloud.machine(strings.TrimPrefix(ids[t.dice.IntN(len(ids))], fakeScheme), state)
}

// kubelets report, those of machines that run; but one in some, or all of them, cannot. Of 0 all can.
func (t *randomRun) kubelets(some int) {
	t.Helper()
	outage := some > 0 && t.dice.IntN(10) == 0
	for _, node := range t.cluster.Nodes() {
		var state cloud.MachineState
		t.fakeCloud.set(func(c *fakeCloud) { state = c.truth(node.Spec.ProviderID) })
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

// lie lets the cloud say something else from now on. What it may not do is lie in every way at once about a machine
// whose Node it could see before, while it shows all others: nobody could tell.
func (t *randomRun) lie() {
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
			return maps.Clone(t.past[max(0, len(t.past)-20)]), nil
		},
	}
	confirms := []func(string, cloud.MachineState) (cloud.MachineState, error){
		nil,
		func(string, cloud.MachineState) (cloud.MachineState, error) { return "", down },
		func(_ string, truth cloud.MachineState) (cloud.MachineState, error) {
			if t.dice.IntN(2) == 0 {
				return "", down
			}
			return truth, nil
		},
		func(id string, truth cloud.MachineState) (cloud.MachineState, error) {
			if time.Since(t.born[id]) < 3*time.Minute { // it does not show yet
				return cloud.MachineGone, nil
			}
			return truth, nil
		},
	}
	vouches := []func() error{nil, nil, func() error { return down }}
	t.fakeCloud.set(func(c *fakeCloud) {
		c.list, c.confirm, c.vouch = lists[t.dice.IntN(len(lists))], confirms[t.dice.IntN(len(confirms))],
			vouches[t.dice.IntN(len(vouches))]
		if t.dice.IntN(8) == 0 { // the wrong place, with good credentials
			c.list = lists[2]
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
		}
		if t.dice.IntN(8) == 0 { // bad credentials
			c.list, c.vouch = lists[3], vouches[2]
			c.confirm = func(string, cloud.MachineState) (cloud.MachineState, error) { return cloud.MachineGone, nil }
		}
	})
}

// some are a random part of the machines.
func (t *randomRun) some(truth map[string]cloud.MachineState) map[string]cloud.MachineState {
	for _, id := range slices.Sorted(maps.Keys(truth)) {
		if t.dice.IntN(2) == 0 {
			delete(truth, id)
		}
	}
	return truth
}

// without leaves out what is younger.
func (t *randomRun) without(truth map[string]cloud.MachineState, age time.Duration) map[string]cloud.MachineState {
	maps.DeleteFunc(truth, func(id string, _ cloud.MachineState) bool { return time.Since(t.born[id]) < age })
	return truth
}
