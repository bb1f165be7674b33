package inventory

import "time"

// outcome is what becomes of one object of the copy.
type outcome int

const (
	untouched outcome = iota // the copy stays as it is
	stored                   // the copy has the object that was returned
	removed                  // the copy does not have it any more
)

// change changes one object of the copy in one step: decide gets the object as the copy has it now, and no list and no
// other write can come in between. It is the only way to write what depends on what the copy has. Decide is called with
// mu held, so it must not use k.
func (k *kind[T]) change(id string, decide func(latest T, known bool) (T, outcome)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	latest, known := k.objects[id]
	switch object, outcome := decide(latest, known); outcome {
	case stored:
		k.replaceOne(object)
	case removed:
		k.dropOne(id)
	case untouched:
	}
}

// put makes the object, of which our own write said everything, part of the copy.
func (k *kind[T]) put(object T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.replaceOne(object)
}

// answer puts an object into the copy that the cloud showed when it was asked for it by identity, unless a list that
// began after arrived, when it was asked, or a write of ours said more.
func (k *kind[T]) answer(object T, arrived uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.copied < arrived && k.written[k.id(object)] < arrived {
		k.replaceOne(object)
	}
}

// create is put for an object that did not exist before.
func (k *kind[T]) create(object T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.replaceOne(object)
	k.created[k.id(object)] = creation{at: time.Now()}
}

// drop takes an object that we deleted out of the copy.
func (k *kind[T]) drop(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropOne(id)
}

// replaceOne wants mu held.
func (k *kind[T]) replaceOne(object T) {
	id := k.id(object)
	k.remove(id)
	delete(k.missed, id)
	k.insert(object)
	k.written[id] = k.next()
}

// dropOne wants mu held.
func (k *kind[T]) dropOne(id string) {
	k.remove(id)
	delete(k.created, id)
	delete(k.missed, id)
	k.written[id] = k.next()
}

func (k *kind[T]) insert(object T) {
	id := k.id(object)
	k.changes++
	k.objects[id] = object
	for _, key := range append(k.keys(object), id) {
		if k.index[key] == nil {
			k.index[key] = map[string]bool{}
		}
		k.index[key][id] = true
	}
}

func (k *kind[T]) remove(id string) {
	object, exists := k.objects[id]
	if !exists {
		return
	}
	delete(k.objects, id)
	k.changes++
	for _, key := range append(k.keys(object), id) {
		delete(k.index[key], id)
		if len(k.index[key]) == 0 {
			delete(k.index, key)
		}
	}
}
