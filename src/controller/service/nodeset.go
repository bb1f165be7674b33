package service

import (
	"fmt"
	"maps"
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

// nodeSet contains the targets on the nodes. They are computed when they are needed, once for all Services with the
// same node selector.
type nodeSet struct {
	nodes    corelisters.NodeLister
	identify cloud.Identify

	mu        sync.Mutex
	chosen    map[string]cloud.Targets   // by the text of the selector; "" is that of all nodes
	selectors map[string]labels.Selector // of the Services that have one, by their keys
}

func newNodeSet(nodes corelisters.NodeLister, identify cloud.Identify) *nodeSet {
	return &nodeSet{nodes: nodes, identify: identify, chosen: map[string]cloud.Targets{},
		selectors: map[string]labels.Selector{}}
}

// invalidate discards the computed targets.
func (n *nodeSet) invalidate() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.chosen)
}

// targets returns the machines of all eligible nodes.
func (n *nodeSet) targets() (cloud.Targets, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.choose("", labels.Everything())
}

// selectedTargets returns the machines of the eligible nodes that match the selector of a Service. The selector is
// recorded before the nodes are read, so that no later change of labels is missed.
func (n *nodeSet) selectedTargets(key string, selector labels.Selector) (cloud.Targets, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.selectors[key] = selector
	text := selector.String()
	if text == "" && !selector.Empty() { // the selector that matches nothing has the text of the one that matches all
		text = "nothing, ever"
	}
	targets, err := n.choose(text, selector)
	if err != nil || !targets.None() {
		return targets, err
	}
	all, err := n.choose("", labels.Everything())
	return targets.Outside(all), err
}

// removeSelector is called for a Service without a selector.
func (n *nodeSet) removeSelector(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.selectors, key)
}

// choose returns the targets of a selector, and computes them if they are not known. The caller holds mu.
func (n *nodeSet) choose(text string, selector labels.Selector) (cloud.Targets, error) {
	if targets, known := n.chosen[text]; known {
		return targets, nil
	}
	nodes, err := n.nodes.List(selector)
	if err != nil {
		return cloud.Targets{}, fmt.Errorf("listing nodes: %w", err)
	}
	n.chosen[text] = cloud.ChooseTargets(nodes, n.identify)
	return n.chosen[text], nil
}

// reselected returns the keys of the Services whose selectors match a node only before or only after a change of its
// labels, and whether it matched before. It ignores nodes that are added or removed, or become eligible or not: these
// are changes for all Services.
func (n *nodeSet) reselected(before, after *corev1.Node) map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before == nil || after == nil || maps.Equal(before.Labels, after.Labels) || !cloud.Eligible(before) ||
		!cloud.Eligible(after) {
		return nil
	}
	clear(n.chosen) // also the targets of a selector that no Service has any more
	keys := map[string]bool{}
	for key, selector := range n.selectors {
		was, is := selector.Matches(labels.Set(before.Labels)), selector.Matches(labels.Set(after.Labels))
		if was != is {
			keys[key] = was
		}
	}
	return keys
}

// nodeDiffers reports whether a change of a node changes the targets of Services, and whether a target was removed.
// Before or after may be nil. Changes of excluded nodes make no difference here: endpointsChanged reports changes of
// their endpoints.
func nodeDiffers(before, after *corev1.Node) (differs, removed bool) {
	was, is := before != nil && cloud.Eligible(before), after != nil && cloud.Eligible(after)
	switch {
	case was == is && before != nil && after != nil:
		other := before.Spec.ProviderID != after.Spec.ProviderID
		moved := before.Labels[corev1.LabelTopologyZone] != after.Labels[corev1.LabelTopologyZone]
		becameReady := !cloud.Ready(before) && cloud.Ready(after)
		managed := cloud.Unmanaged(before) != cloud.Unmanaged(after)
		return other || moved || becameReady || managed ||
			cloud.WithoutNetwork(before) != cloud.WithoutNetwork(after), other && before.Spec.ProviderID != ""
	case was:
		return true, true
	}
	return is, false
}
