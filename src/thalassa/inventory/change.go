package inventory

import (
	"errors"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// outcome is the result of a change of one object.
type outcome int

const (
	untouched outcome = iota // the object does not change
	stored                   // the returned object is stored
	removed                  // the object is removed
)

// change changes one object atomically: decide gets the present object, and no list and no other write can intervene. A
// write that depends on the present object must use it. decide is called with mu held, so it must not use s.
func (s *store[T]) change(id string, decide func(latest T, known bool) (T, outcome)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest, known := s.objects[id]
	switch object, outcome := decide(latest, known); outcome {
	case stored:
		s.replaceOne(object)
	case removed:
		s.dropOne(id)
	case untouched:
	}
}

// put stores an object that our own write has set completely.
func (s *store[T]) put(object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaceOne(object)
}

// putFetched stores an object that was requested by identity, unless a list that began after readNumber, or a write of
// ours, is newer than the request.
func (s *store[T]) putFetched(object T, readNumber uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copyNumber < readNumber && s.written[s.id(object)] < readNumber {
		s.replaceOne(object)
	}
}

// putCreated is put for an object that did not exist before.
func (s *store[T]) putCreated(object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaceOne(object)
	s.created[s.id(object)] = creation{at: time.Now()}
}

// drop removes an object that we deleted.
func (s *store[T]) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOne(id)
}

// replaceOne requires that mu is held.
func (s *store[T]) replaceOne(object T) {
	id := s.id(object)
	s.remove(id)
	delete(s.unlisted, id)
	s.insert(object)
	s.written[id] = s.next()
}

// dropOne requires that mu is held.
func (s *store[T]) dropOne(id string) {
	s.remove(id)
	delete(s.created, id)
	delete(s.unlisted, id)
	s.written[id] = s.next()
}

func (s *store[T]) insert(object T) {
	id := s.id(object)
	s.revision++
	s.objects[id] = object
	for _, key := range append(s.keys(object), id) {
		if s.index[key] == nil {
			s.index[key] = map[string]bool{}
		}
		s.index[key][id] = true
	}
}

func (s *store[T]) remove(id string) {
	object, exists := s.objects[id]
	if !exists {
		return
	}
	delete(s.objects, id)
	s.revision++
	for _, key := range append(s.keys(object), id) {
		delete(s.index[key], id)
		if len(s.index[key]) == 0 {
			delete(s.index, key)
		}
	}
}

// writeError returns the error of a write that needs an optional permission, and invalidates the store if it may be
// outdated: a cloud may refuse an old version, or a duplicate, with any status.
func (s *store[T]) writeError(err error) error {
	if mayHaveHappened(err) || errors.Is(err, client.ErrBadRequest) {
		s.invalidate()
	}
	if errors.Is(err, client.ErrUnauthorised) {
		return withPermission(err, "write "+s.name)
	}
	return err
}
