package service

import "sync"

// stateStore contains the states of all Services, by a key that the caller chooses. The zero value is empty.
type stateStore struct{ states sync.Map } // of *serviceState

// get returns the state of a Service, and creates it if there is none.
func (s *stateStore) get(key string) *serviceState {
	found, _ := s.states.LoadOrStore(key, &serviceState{})
	state, _ := found.(*serviceState)
	return state
}

// remove removes the state of a Service. The caller holds its lock, so that no other goroutine reconciles the Service.
func (s *stateStore) remove(key string) { s.states.Delete(key) }

// has reports whether there is a state of the Service.
func (s *stateStore) has(key string) bool {
	_, known := s.states.Load(key)
	return known
}

// keys returns the keys of all states.
func (s *stateStore) keys() (keys []string) {
	for found := range s.states.Range {
		key, _ := found.(string)
		keys = append(keys, key)
	}
	return keys
}

// seen returns what the latest comparison of each Service found.
func (s *stateStore) seen() (all []*seen) {
	for _, found := range s.states.Range {
		state, _ := found.(*serviceState)
		if seen := state.seen.Load(); seen != nil {
			all = append(all, seen)
		}
	}
	return all
}
