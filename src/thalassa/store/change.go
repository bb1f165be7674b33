package store

import (
	"errors"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// Change changes one object atomically: change gets the present object, or otherwise if there is none, and no list and
// no other write can intervene. A write that depends on the present object must use it. change is called with mu held,
// so it must not use s.
func (s *Store[T]) Change(id string, otherwise T, change func(latest T) T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest, known := s.objects[id]
	if !known {
		latest = otherwise
	}
	s.replaceOne(change(latest))
}

// ChangeStored is Change for an object that is stored, unless change returns false; it reports whether it is stored.
func (s *Store[T]) ChangeStored(id string, change func(latest T) (T, bool)) (known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest, known := s.objects[id]
	if !known {
		return false
	}
	if object, changes := change(latest); changes {
		s.replaceOne(object)
	}
	return true
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
	s.remove(id)
	delete(s.created, id)
	delete(s.unlisted, id)
	s.written[id] = s.next()
}

// replaceOne requires that mu is held.
func (s *Store[T]) replaceOne(object T) {
	id := s.id(object)
	s.remove(id)
	delete(s.unlisted, id)
	s.insert(object)
	s.written[id] = s.next()
}

func (s *Store[T]) insert(object T) {
	id := s.id(object)
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
