package service

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// selections are the node selectors of Services, and what they choose. While no Service has one they are empty, and
// cost nothing. The zero value is ready to use; the fleet's lock guards it.
type selections struct {
	known map[string]*selection // by the selector's text
	of    map[string]string     // the text, by the Service's key
}

// selection is what one selector chooses, for all Services that have it.
type selection struct {
	selector labels.Selector
	services map[string]bool // by key
	chosen   *cloud.Targets  // nil: to be chosen
	touched  bool            // other nodes match, since its Services were looked at
	leaves   bool            // one of those that did does not any more
}

// selectedBy are the machines of the eligible nodes that a Service's selector chooses, nil for all. Whose selector it
// is, is remembered before nodes are read: no change of labels after that is missed.
func (f *fleet) selectedBy(key string, selector labels.Selector) (cloud.Targets, error) {
	if selector == nil {
		f.unselect(key)
		return f.targets()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.selections.join(key, selector)
	targets, err := f.choose(&s.chosen, s.selector)
	if err != nil || !targets.None() {
		return targets, err
	}
	all, err := f.choose(&f.chosen, labels.Everything())
	return targets.Outside(all), err
}

// unselect is for a Service without a selector.
func (f *fleet) unselect(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.selections.part(key)
}

// relabelled says whether a change of a node's labels changes what a selector chooses, and whether a node leaves by it.
// Either may be nil: what comes or goes, or becomes eligible or not, is a change for all Services.
func (f *fleet) relabelled(before, after *corev1.Node) (differs, leaves bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.selections.known) == 0 || before == nil || after == nil || maps.Equal(before.Labels, after.Labels) ||
		!cloud.Eligible(before) || !cloud.Eligible(after) {
		return false, false
	}
	for _, s := range f.selections.known {
		was, is := s.selector.Matches(labels.Set(before.Labels)), s.selector.Matches(labels.Set(after.Labels))
		if was == is {
			continue
		}
		s.chosen, s.touched, s.leaves = nil, true, s.leaves || was
		differs, leaves = true, leaves || was
	}
	return differs, leaves
}

// reselected are the keys of the Services whose selectors choose other nodes than at the last time, and whether a node
// has left by it.
func (f *fleet) reselected() (keys []string, leaves bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.selections.known {
		if s.touched {
			keys, leaves = slices.AppendSeq(keys, maps.Keys(s.services)), leaves || s.leaves
			s.touched, s.leaves = false, false
		}
	}
	return keys, leaves
}

// changed makes everything be chosen anew.
func (s *selections) changed() {
	for _, one := range s.known {
		one.chosen = nil
	}
}

// join makes a Service one of those that have the selector.
func (s *selections) join(key string, selector labels.Selector) *selection {
	// No two selectors that differ have the same text, but for one that chooses nothing.
	text := selector.String()
	if text == "" && !selector.Empty() {
		text = "nothing, ever"
	}
	if before, had := s.of[key]; !had || before != text {
		s.part(key)
	}
	if s.known == nil {
		s.known, s.of = map[string]*selection{}, map[string]string{}
	}
	if s.known[text] == nil {
		s.known[text] = &selection{selector: selector, services: map[string]bool{}}
	}
	s.of[key], s.known[text].services[key] = text, true
	return s.known[text]
}

// part forgets the selector of a Service, and what it chooses when nobody else has it.
func (s *selections) part(key string) {
	text, had := s.of[key]
	if !had {
		return
	}
	delete(s.of, key)
	if delete(s.known[text].services, key); len(s.known[text].services) == 0 {
		delete(s.known, text)
	}
}
