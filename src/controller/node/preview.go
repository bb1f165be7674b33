package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Preview is what the controller would do for a Node now.
type Preview struct {
	Node *corev1.Node
	// Managed means that the controller manages the Node: it has a machine of this cloud, or waits for one.
	Managed bool
	// Machine is the machine of the Node; zero if it is not known.
	Machine cloud.Machine
	// Changes are the differences that the controller would write, each in a few words.
	Changes []string
	// Problems are why the Node is not in sync, and which settings cannot be used.
	Problems []cloud.MachineProblem
}

// Previews returns what the controller would do for each of the Nodes, which are all of the cluster, in a program in
// which it does not run. It writes nothing.
func Previews(ctx context.Context, provider cloud.Machines, behaviour cloud.MachineBehaviour,
	nodes []*corev1.Node) ([]Preview, error) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers())
	c := &Controller{provider: provider, behaviour: behaviour, claims: claims{nodes: indexer}}
	for _, node := range nodes {
		if err := indexer.Add(node); err != nil {
			return nil, fmt.Errorf("preparing a preview of Node %s: %w", node.Name, err)
		}
		c.firstSeen.since(node) // all before the first request, so that one list is new enough for all
	}
	var previews []Preview
	for _, node := range nodes {
		previews = append(previews, c.preview(ctx, node))
	}
	return previews, context.Cause(ctx)
}

func (c *Controller) preview(ctx context.Context, node *corev1.Node) Preview {
	p := Preview{Node: node}
	if c.foreign(node) {
		return p
	}
	machine, err := c.find(ctx, node)
	p.Machine, p.Managed = machine, isManaged(node, machine, err)
	d, err := c.differenceFrom(node, machine, err)
	p.Changes, p.Problems = d.words(node), d.problems
	if problem, ok := errors.AsType[*cloud.MachineProblem](err); ok {
		p.Problems = append(p.Problems, *problem)
	}
	return p
}

// words describes the difference of a Node for people.
func (d difference) words(node *corev1.Node) []string {
	var words []string
	if d.providerID != "" {
		words = append(words, "provider ID "+d.providerID)
	}
	if d.addresses != nil {
		words = append(words, "addresses "+join(d.addresses))
	}
	for _, key := range slices.Sorted(maps.Keys(d.labels)) {
		if value := d.labels[key]; value != nil {
			words = append(words, "label "+key+"="+*value)
			continue
		}
		words = append(words, "no label "+key)
	}
	for _, key := range slices.Sorted(maps.Keys(d.annotations)) {
		words = append(words, "annotation "+key)
	}
	if d.retaints {
		words = append(words, taintWords(node.Spec.Taints, d.taints)...)
	}
	return words
}

// taintWords describes the difference between taints.
func taintWords(have, want []corev1.Taint) []string {
	var words []string
	for _, taint := range want {
		if !slices.Contains(have, taint) {
			words = append(words, "taint "+taint.ToString())
		}
	}
	for _, taint := range have {
		same := func(other corev1.Taint) bool { return taint.MatchTaint(&other) }
		if !slices.ContainsFunc(want, same) {
			words = append(words, "no taint "+taint.ToString())
		}
	}
	return words
}
