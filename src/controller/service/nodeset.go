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
	joinWindow  = time.Second
	leaveWindow = 100 * time.Millisecond // until it is over, traffic goes where nobody is
)

// fleet is all nodes as targets, chosen once for all Services when it is needed.
type fleet struct {
	nodes    corelisters.NodeLister
	identify cloud.Identify

	mu         sync.Mutex
	chosen     *cloud.Targets // nil: to be chosen
	swept      []string       // identities at the latest sweep, sorted
	selections selections
}

// changed makes the targets be chosen anew.
func (f *fleet) changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chosen = nil
	f.selections.changed()
}

// targets are the machines of all eligible nodes, as they are now.
func (f *fleet) targets() (cloud.Targets, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.choose(&f.chosen, labels.Everything())
}

// choose returns what was chosen, or chooses it. It wants mu held.
func (f *fleet) choose(chosen **cloud.Targets, selector labels.Selector) (cloud.Targets, error) {
	if *chosen == nil {
		nodes, err := f.nodes.List(selector)
		if err != nil {
			return cloud.Targets{}, fmt.Errorf("listing nodes: %w", err)
		}
		targets := cloud.ChooseTargets(nodes, f.identify)
		*chosen = &targets
	}
	return **chosen, nil
}

// sweep returns whether a machine has left since the last time.
func (f *fleet) sweep() (leaves bool, err error) {
	targets, err := f.targets()
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	leaves = lost(f.swept, targets.Identities)
	f.swept = targets.Identities
	return leaves, nil
}

// difference says whether a change of a node changes the targets of Services, and whether one leaves. Either may be
// nil. A node that is excluded comes and goes without a difference: the endpoints on it do, too.
func difference(before, after *corev1.Node) (differs, leaves bool) {
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

// lost says whether something that was there is missing; both are sorted.
func lost(before, after []string) bool {
	return slices.ContainsFunc(before, func(one string) bool {
		_, found := slices.BinarySearch(after, one)
		return !found
	})
}
