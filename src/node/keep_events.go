package node

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reasonSynced is of the event that the node controller of k8s.io/cloud-provider has, too.
const reasonSynced = "Synced"

// reasonNotWritten is our own, beside those of problems: the API server refuses the patch.
const reasonNotWritten = "NodeNotWritten"

// repeatAfter is when a trouble that lasts is told again: the API server keeps events for an hour.
const repeatAfter = 55 * time.Minute

// keepVoice is how many events about troubles are made at a time, and how many more each minute: what all of five thousand Nodes have is
// told of the others later on.
const keepVoice = 25

func newVoice() *rate.Limiter { return rate.NewLimiter(rate.Every(time.Minute/keepVoice), keepVoice) }

// tell makes events of what stands in the way of a Node, and of what of it cannot be used: each once, and again when it lasts. That the
// cloud gives no answer is told only of Nodes that wait for it: of a thousand others it is no news.
func (k *Keeper) tell(node *corev1.Node, err error, problems []Problem) {
	problems = news(node, problems)
	if problem, ok := errors.AsType[*Problem](err); ok {
		if problem.ofCloud() && !waiting(node) {
			return
		}
		problems = append(problems, *problem)
	}
	for _, problem := range k.troubles.note(node, problems, time.Now()) {
		k.recorder.Event(node, corev1.EventTypeWarning, problem.Reason, problem.Message)
	}
}

// news are those of the problems that a Node's owner is told of.
func news(node *corev1.Node, problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Reason == CloudNotReachable && !waiting(node) })
}

// troubles are what Nodes have that lasts, and what of it was told.
type troubles struct {
	voice *rate.Limiter
	mu    sync.Mutex
	nodes map[string]trouble
	cloud time.Time // when it was told that the cloud does not permit what initialised Nodes should say
}

// trouble is that of one Node.
type trouble struct {
	uid  types.UID
	told map[Problem]time.Time // zero: not yet
}

// topic is what makes two problems the same: how the cloud gives no answer changes from one attempt to the next.
func topic(p Problem) Problem {
	if p.ofCloud() || p.Reason == MachineNotKnown {
		p.Message = ""
	}
	return p
}

// note keeps the problems of a Node, and returns those that are to be told now.
func (t *troubles) note(node *corev1.Node, problems []Problem, now time.Time) (untold []Problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.nodes[node.Name]
	if len(problems) == 0 {
		delete(t.nodes, node.Name)
		return nil
	}
	after := trouble{uid: node.UID, told: map[Problem]time.Time{}}
	for _, problem := range problems {
		key := topic(problem)
		at, told := before.told[key]
		if _, twice := after.told[key]; twice {
			continue
		}
		if !told || before.uid != node.UID || now.Sub(at) >= repeatAfter {
			var aloud bool
			if at, aloud = t.speak(problem, waiting(node), now); aloud {
				untold = append(untold, problem)
			}
		}
		after.told[key] = at
	}
	if t.nodes == nil {
		t.nodes = map[string]trouble{}
	}
	t.nodes[node.Name] = after
	return untold
}

// speak says whether a problem is told now, and when it then was: what is the cloud's is told once for all Nodes that are initialised. It
// wants mu held.
func (t *troubles) speak(p Problem, waits bool, now time.Time) (at time.Time, aloud bool) {
	ofAll := p.ofCloud() && !waits
	switch {
	case ofAll && now.Sub(t.cloud) < repeatAfter:
		return now, false
	case !t.voice.AllowN(now, 1):
		return time.Time{}, false
	case ofAll:
		t.cloud = now
	}
	return now, true
}

// same says whether a Node has these problems, as far as was told lately.
func (t *troubles) same(node *corev1.Node, problems []Problem, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.nodes[node.Name]
	if len(known.told) != len(problems) {
		return false
	}
	return !slices.ContainsFunc(problems, func(p Problem) bool {
		at, told := known.told[topic(p)]
		return !told || now.Sub(at) >= repeatAfter
	})
}

func (t *troubles) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.nodes, name)
}

// reasons counts the Nodes by the reasons of their problems.
func (t *troubles) reasons() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := map[string]int{}
	for _, one := range t.nodes {
		reasons := map[string]bool{}
		for problem := range one.told {
			reasons[problem.Reason] = true
		}
		for reason := range maps.Keys(reasons) {
			count[reason]++
		}
	}
	return count
}
