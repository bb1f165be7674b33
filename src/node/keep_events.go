package node

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reasonSynced is of the event that the node controller of k8s.io/cloud-provider has, too.
const reasonSynced = "Synced"

// reasonNotWritten is our own, beside those of problems: the API server refuses the patch.
const reasonNotWritten = "NodeNotWritten"

// repeatAfter is when a trouble that lasts is told again: the API server keeps events for an hour.
const repeatAfter = 55 * time.Minute

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

// troubles are what was told of Nodes, and lasts. The zero value is ready to use.
type troubles struct {
	mu    sync.Mutex
	nodes map[string]trouble
}

// trouble is that of one Node.
type trouble struct {
	uid  types.UID
	told map[Problem]time.Time
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
			untold, at = append(untold, problem), now
		}
		after.told[key] = at
	}
	if t.nodes == nil {
		t.nodes = map[string]trouble{}
	}
	t.nodes[node.Name] = after
	return untold
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
