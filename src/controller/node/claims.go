package node

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// byMachine is the index of Nodes by their provider ID.
const byMachine = "cloud-node-controller/providerID"

func indexers() cache.Indexers {
	return cache.Indexers{byMachine: func(object any) ([]string, error) {
		if node, ok := object.(*corev1.Node); ok && node.Spec.ProviderID != "" {
			return []string{node.Spec.ProviderID}, nil
		}
		return nil, nil
	}}
}

// claims prevent that two Nodes get the same machine.
type claims struct {
	nodes cache.Indexer // with byMachine

	mu      sync.Mutex
	pending map[string]string // provider IDs that Nodes are about to get, until nodes contains them, by the Node's name
}

// claim records the provider ID that a Node is about to get, unless another Node has it: that one is returned.
func (c *claims) claim(node, machine string) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.otherOf(node, machine); other == "" {
		c.pending[node] = machine
	}
	return other
}

// taken returns another Node with the machine, "" if there is none. It claims nothing.
func (c *claims) taken(node, machine string) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.otherOf(node, machine)
}

// release ends the claim of a Node, which was not written, or whose provider ID is in the index.
func (c *claims) release(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, node)
}

// otherOf requires mu to be held: a claim ends after the index contains it.
func (c *claims) otherOf(node, machine string) (other string) {
	names, err := c.nodes.IndexKeys(byMachine, machine)
	if err != nil { // there is no such index
		return ""
	}
	for name, claimed := range c.pending {
		if claimed == machine {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if name != node && (other == "" || name < other) {
			other = name
		}
	}
	return other
}
