package node

import (
	"sync"
)

// claims is an index of Nodes by machine and of machines by Node, so that no two Nodes get the same machine. The zero
// value is ready to use.
type claims struct {
	mu       sync.Mutex
	machines map[string]string          // Node -> provider ID
	nodes    map[string]map[string]bool // provider ID -> Nodes
}

// set records the provider ID of a Node; "" if it has none.
func (c *claims) set(node, machine string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(node, machine)
}

// claim records the provider ID that a Node is about to get, unless another Node has it: that one is returned.
func (c *claims) claim(node, machine string) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.otherOf(node, machine); other == "" {
		c.move(node, machine)
	}
	return other
}

// taken returns another Node with the machine, "" if there is none. It claims nothing.
func (c *claims) taken(node, machine string) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.otherOf(node, machine)
}

// release ends a claim without a write. Current returns the Node's provider ID, and is called while no other change is
// possible.
func (c *claims) release(node string, current func() string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move(node, current())
}

// otherOf requires mu to be held.
func (c *claims) otherOf(node, machine string) (other string) {
	for name := range c.nodes[machine] {
		if name != node && (other == "" || name < other) {
			other = name
		}
	}
	return other
}

// move requires mu to be held.
func (c *claims) move(node, machine string) {
	before, known := c.machines[node]
	if known && before == machine {
		return
	}
	if known {
		delete(c.machines, node)
		delete(c.nodes[before], node)
		if len(c.nodes[before]) == 0 {
			delete(c.nodes, before)
		}
	}
	if machine == "" {
		return
	}
	if c.nodes == nil {
		c.machines, c.nodes = map[string]string{}, map[string]map[string]bool{}
	}
	if c.nodes[machine] == nil {
		c.nodes[machine] = map[string]bool{}
	}
	c.machines[node], c.nodes[machine][node] = machine, true
}
