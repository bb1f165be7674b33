package thalassa

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// poolLabel is what node selectors of lives choose by. The first node always has it.
const poolLabel = "example.com/pool"

// later are the events that were not drawn in the beginning.
func (d dice) later(name string) []event {
	return []event{
		{"class", func() step { return d.classed(name) }},
		{"name used again", func() step { return d.again(name) }},
		{"node selector", func() step { return edited(name, selecting) }},
		{"pool", d.pool},
		{"node renamed", d.rename},
		{"machine replaced", d.replace},
		{"quota", func() step { return func(*cluster.Cluster) error { return d.quota() } }},
	}
}

// selecting gives a Service a node selector, or takes it away.
func selecting(s *corev1.Service) {
	if _, selects := s.Annotations[label.AnnotationPrefix+nameNodeSelector]; selects {
		delete(s.Annotations, label.AnnotationPrefix+nameNodeSelector)
		return
	}
	s.Annotations[label.AnnotationPrefix+nameNodeSelector] = poolLabel
}

// pool puts a node into the pool that selectors choose, or takes it out. The first one stays.
func (d dice) pool() step {
	like := known(d.nodes[1+d.IntN(len(d.nodes)-1)])[0]
	return possible(func(c *cluster.Cluster) error {
		return c.Change(like, func(node cluster.Object) { toggle(node, poolLabel) })
	})
}

// toggle gives a node a label, or takes it away.
func toggle(node cluster.Object, label string) {
	labels := maps.Clone(node.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	if _, has := labels[label]; has {
		delete(labels, label)
	} else {
		labels[label] = ""
	}
	node.SetLabels(labels)
}

// classed makes Service api with a class, ours or of others, once there is none. Service web has its load balancer all
// the time.
func (d dice) classed(name string) step {
	class := []string{ourClass, "example.com/others"}[d.IntN(2)]
	if name == "web" {
		name = "api"
	}
	s := initial(name)
	s.Spec.LoadBalancerClass = &class
	return possible(creates(s))
}

// again deletes Service api, and makes another one of its name as soon as that is possible.
func (d dice) again(string) step {
	deleted := false
	return func(c *cluster.Cluster) error {
		if !deleted {
			deleted = true
			if err := possible(deletes(service("api")))(c); err != nil {
				return err
			}
		}
		return c.Create(initial("api"))
	}
}

// rename lets the machine of a node register under another name, or its own again.
func (d dice) rename() step {
	node := known(d.nodes[1+d.IntN(len(d.nodes)-1)])[0]
	return possible(func(c *cluster.Cluster) error {
		other := renamed(node)
		if err := c.Delete(node); !apierrors.IsNotFound(err) {
			if err != nil {
				return err
			}
			return c.Create(other)
		}
		if err := c.Delete(other); err != nil {
			return err
		}
		return c.Create(node)
	})
}

// renamed is a node of the same machine with another name.
func renamed(node *corev1.Node) *corev1.Node {
	other := node.DeepCopy()
	other.Name += "-renamed"
	return other
}

// replace puts another machine behind the name of a node, or its own again: the Node is another object then, as a
// provider ID never changes.
func (d dice) replace() step {
	node := known(d.nodes[1+d.IntN(len(d.nodes)-1)])[0]
	return possible(func(c *cluster.Cluster) error {
		was := machinesOf(c)[node.Name]
		if err := c.Delete(node); err != nil {
			return err
		}
		other := node.DeepCopy()
		if was == node.Name {
			other.Spec.ProviderID = providerid.Of(serverID(spareOf(node.Name)))
		}
		return c.Create(other)
	})
}

// spareOf is the machine that replaces that of a name: of nodes a to d, or w to z.
func spareOf(name string) string {
	const distance = 4
	if name < "n" {
		return string(name[0] + distance)
	}
	return string(name[0] - distance)
}

// machinesOf are the names of the machines of all nodes, by the names of those.
func machinesOf(c *cluster.Cluster) map[string]string {
	machines := map[string]string{}
	for _, node := range c.Nodes() {
		id := node.Spec.ProviderID
		machines[node.Name] = id[len(id)-1:]
	}
	return machines
}
