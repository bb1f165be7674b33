package service

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// selections are the node selectors of Services and the targets that they select. The zero value is empty. The lock of
// the nodeSet protects it.
type selections struct {
	byText map[string]*selection // by the text of the selector
	texts  map[string]string     // the text, by the key of the Service
}

// selection contains the targets of one selector, for all Services that have it.
type selection struct {
	selector labels.Selector
	services map[string]bool // by key
	chosen   *cloud.Targets  // nil: not computed yet
	changed  bool            // other nodes match since its Services were queued
	removed  bool            // a node does not match any more
}

// selectedTargets returns the machines of the eligible nodes that match the selector; nil matches all. The selector is
// recorded before the nodes are read, so that no later change of labels is missed.
func (n *nodeSet) selectedTargets(key string, selector labels.Selector) (cloud.Targets, error) {
	if selector == nil {
		n.removeSelector(key)
		return n.targets()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.selections.add(key, selector)
	targets, err := n.choose(&s.chosen, s.selector)
	if err != nil || !targets.None() {
		return targets, err
	}
	all, err := n.choose(&n.chosen, labels.Everything())
	return targets.Outside(all), err
}

// removeSelector is called for a Service without a selector.
func (n *nodeSet) removeSelector(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.selections.remove(key)
}

// updateLabels reports whether a change of a node's labels changes the nodes of a selector, and whether a node does not
// match any more. It ignores nodes that are added or removed, or become eligible or not: these are changes for all
// Services.
func (n *nodeSet) updateLabels(before, after *corev1.Node) (differs, removed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.selections.byText) == 0 || before == nil || after == nil || maps.Equal(before.Labels, after.Labels) ||
		!cloud.Eligible(before) || !cloud.Eligible(after) {
		return false, false
	}
	for _, s := range n.selections.byText {
		was, is := s.selector.Matches(labels.Set(before.Labels)), s.selector.Matches(labels.Set(after.Labels))
		if was == is {
			continue
		}
		s.chosen, s.changed, s.removed = nil, true, s.removed || was
		differs, removed = true, removed || was
	}
	return differs, removed
}

// takeReselected returns the keys of the Services whose selectors match other nodes since the last call, and whether a
// node does not match any more.
func (n *nodeSet) takeReselected() (keys []string, removed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.selections.byText {
		if s.changed {
			keys, removed = slices.AppendSeq(keys, maps.Keys(s.services)), removed || s.removed
			s.changed, s.removed = false, false
		}
	}
	return keys, removed
}

// invalidate discards the computed targets.
func (s *selections) invalidate() {
	for _, one := range s.byText {
		one.chosen = nil
	}
}

// add records the selector of a Service.
func (s *selections) add(key string, selector labels.Selector) *selection {
	// Different selectors have different texts, except for the selector that matches nothing.
	text := selector.String()
	if text == "" && !selector.Empty() {
		text = "nothing, ever"
	}
	if before, had := s.texts[key]; !had || before != text {
		s.remove(key)
	}
	if s.byText == nil {
		s.byText, s.texts = map[string]*selection{}, map[string]string{}
	}
	if s.byText[text] == nil {
		s.byText[text] = &selection{selector: selector, services: map[string]bool{}}
	}
	s.texts[key], s.byText[text].services[key] = text, true
	return s.byText[text]
}

// remove removes the selector of a Service, and the selection if no other Service has it.
func (s *selections) remove(key string) {
	text, had := s.texts[key]
	if !had {
		return
	}
	delete(s.texts, key)
	if delete(s.byText[text].services, key); len(s.byText[text].services) == 0 {
		delete(s.byText, text)
	}
}
