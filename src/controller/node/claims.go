package node

import (
	"sync"
)

// claims is an index of Nodes by machine and of machines by Node, so that no two get the same one. The zero value is
// ready to use.
type claims struct {
	mu       sync.Mutex
	machines map[string]string          // Node -> provider ID
	nodes    map[string]map[string]bool // provider ID -> Nodes
}

// settle notes where a Node says it runs; "" is nowhere.
func (t *claims) settle(node, machine string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move(node, machine)
}

// claim notes that a Node is about to say where it runs, unless another one says so already: that one is returned.
func (t *claims) claim(node, machine string) (other string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other = t.otherOf(node, machine); other == "" {
		t.move(node, machine)
	}
	return other
}

// taken returns another Node that says that it runs on the machine, "" if there is none. It claims nothing.
func (t *claims) taken(node, machine string) (other string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.otherOf(node, machine)
}

// release ends a claim that came to nothing: what counts is what the Node says, which is read while nobody else notes
// anything.
func (t *claims) release(node string, says func() string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move(node, says())
}

// otherOf wants mu held.
func (t *claims) otherOf(node, machine string) (other string) {
	for name := range t.nodes[machine] {
		if name != node && (other == "" || name < other) {
			other = name
		}
	}
	return other
}

// move wants mu held.
func (t *claims) move(node, machine string) {
	before, known := t.machines[node]
	if known && before == machine {
		return
	}
	if known {
		delete(t.machines, node)
		delete(t.nodes[before], node)
		if len(t.nodes[before]) == 0 {
			delete(t.nodes, before)
		}
	}
	if machine == "" {
		return
	}
	if t.nodes == nil {
		t.machines, t.nodes = map[string]string{}, map[string]map[string]bool{}
	}
	if t.nodes[machine] == nil {
		t.nodes[machine] = map[string]bool{}
	}
	t.machines[node], t.nodes[machine][node] = machine, true
}
