package service

import (
	"maps"
	"slices"
	"sync"
)

// stateStore contains the states of all Services, by a key that the caller chooses. The zero value is empty.
type stateStore struct {
	mu     sync.Mutex
	states map[string]*serviceState
}

// get returns the state of a Service, and creates it if there is none.
func (s *stateStore) get(key string) *serviceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = map[string]*serviceState{}
	}
	if s.states[key] == nil {
		s.states[key] = &serviceState{}
	}
	return s.states[key]
}

// remove removes the state of a Service. The caller holds its lock, so that no other goroutine reconciles the Service.
func (s *stateStore) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, key)
}

// has reports whether there is a state of the Service.
func (s *stateStore) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[key] != nil
}

// seen returns what the latest comparison of each Service found.
func (s *stateStore) seen() (all []*seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.states {
		if seen := state.seen.Load(); seen != nil {
			all = append(all, seen)
		}
	}
	return all
}

// keys returns the keys of all states.
func (s *stateStore) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.states))
}
