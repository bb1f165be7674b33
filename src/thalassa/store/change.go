package store

import (
	"errors"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// Outcome is the result of a change of one object.
type Outcome int

// The outcomes of a change.
const (
	Untouched Outcome = iota // the object does not change
	Stored                   // the returned object is stored
	Removed                  // the object is removed
)

// Change changes one object atomically: decide gets the present object, and no list and no other write can intervene. A
// write that depends on the present object must use it. decide is called with mu held, so it must not use s.
func (s *Store[T]) Change(id string, decide func(latest T, known bool) (T, Outcome)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest, known := s.objects[id]
	switch object, outcome := decide(latest, known); outcome {
	case Stored:
		s.replaceOne(object)
	case Removed:
		s.dropOne(id)
	case Untouched:
	}
}

// Put stores an object that our own write has set completely.
func (s *Store[T]) Put(object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaceOne(object)
}

// PutFetched stores an object that was requested by identity, unless a list that began after readNumber, or a write of
// ours, is newer than the request.
func (s *Store[T]) PutFetched(object T, readNumber uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copyNumber < readNumber && s.written[s.id(object)] < readNumber {
		s.replaceOne(object)
	}
}

// PutCreated is Put for an object that did not exist before.
func (s *Store[T]) PutCreated(object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaceOne(object)
	s.created[s.id(object)] = creation{at: time.Now()}
}

// Drop removes an object that we deleted.
func (s *Store[T]) Drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOne(id)
}

// replaceOne requires that mu is held.
func (s *Store[T]) replaceOne(object T) {
	id := s.id(object)
	s.remove(id)
	delete(s.unlisted, id)
	s.insert(object)
	s.written[id] = s.next()
}

// dropOne requires that mu is held.
func (s *Store[T]) dropOne(id string) {
	s.remove(id)
	delete(s.created, id)
	delete(s.unlisted, id)
	s.written[id] = s.next()
}

func (s *Store[T]) insert(object T) {
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

func (s *Store[T]) remove(id string) {
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

// WriteError returns the error of a write that needs an optional permission, and invalidates the store if it may be
// outdated: a cloud may refuse an old version, or a duplicate, with any status.
func (s *Store[T]) WriteError(err error) error {
	if MayHaveHappened(err) || errors.Is(err, client.ErrBadRequest) {
		s.Invalidate()
	}
	if errors.Is(err, client.ErrUnauthorised) {
		return WithPermission(err, "write "+s.name)
	}
	return err
}
