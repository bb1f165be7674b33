package service

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Changes of nodes and endpoints that happen within a window after the first one are written together.
const (
	addWindow    = time.Second
	removeWindow = 100 * time.Millisecond // short, because removed targets still receive traffic
)

// nodeSet contains the targets on all nodes. They are computed when they are needed, once for all Services.
type nodeSet struct {
	nodes    corelisters.NodeLister
	identify cloud.Identify

	mu           sync.Mutex
	chosen       *cloud.Targets // nil: not computed yet
	lastMachines []string       // identities at the latest resync, sorted
	selections   selections
}

// invalidate discards the computed targets.
func (n *nodeSet) invalidate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.chosen = nil
	n.selections.invalidate()
}

// targets returns the machines of all eligible nodes.
func (n *nodeSet) targets() (cloud.Targets, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.choose(&n.chosen, labels.Everything())
}

// choose returns the targets in chosen, and computes them if they are nil. The caller holds mu.
func (n *nodeSet) choose(chosen **cloud.Targets, selector labels.Selector) (cloud.Targets, error) {
	if *chosen == nil {
		nodes, err := n.nodes.List(selector)
		if err != nil {
			return cloud.Targets{}, fmt.Errorf("listing nodes: %w", err)
		}
		targets := cloud.ChooseTargets(nodes, n.identify)
		*chosen = &targets
	}
	return **chosen, nil
}

// resync reports whether a machine was removed since the last call.
func (n *nodeSet) resync() (removed bool, err error) {
	targets, err := n.targets()
	if err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	removed = anyRemoved(n.lastMachines, targets.Identities)
	n.lastMachines = targets.Identities
	return removed, nil
}

// nodeDiffers reports whether a change of a node changes the targets of Services, and whether a target was removed.
// Before or after may be nil. Changes of excluded nodes make no difference here: endpointEvents reports changes of
// their endpoints.
func nodeDiffers(before, after *corev1.Node) (differs, removed bool) {
	was, is := before != nil && cloud.Eligible(before), after != nil && cloud.Eligible(after)
	switch {
	case was == is && before != nil && after != nil:
		other := before.Spec.ProviderID != after.Spec.ProviderID
		return other || cloud.WithoutNetwork(before) != cloud.WithoutNetwork(after), other &&
			before.Spec.ProviderID != ""
	case was:
		return true, true
	}
	return is, false
}

// anyRemoved reports whether before contains an element that after does not contain. Both are sorted.
func anyRemoved(before, after []string) bool {
	return slices.ContainsFunc(before, func(one string) bool {
		_, found := slices.BinarySearch(after, one)
		return !found
	})
}
