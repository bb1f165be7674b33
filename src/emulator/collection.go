package emulator

import "iter"

// keyed is an object that can be found by identity and by slug.
type keyed interface {
	comparable
	key() (identity, slug string)
}

// collection holds objects in the order in which they were added. Its zero
// value is empty and ready to use.
type collection[T keyed] struct {
	order      []T
	byIdentity map[string]int
	bySlug     map[string]int
}

func (c *collection[T]) add(object T) {
	if c.byIdentity == nil {
		c.byIdentity, c.bySlug = map[string]int{}, map[string]int{}
	}
	identity, slug := object.key()
	c.byIdentity[identity] = len(c.order)
	c.bySlug[slug] = len(c.order)
	c.order = append(c.order, object)
}

// exact finds an object by identity only.
func (c *collection[T]) exact(identity string) (object T, found bool) {
	i, found := c.byIdentity[identity]
	if found {
		object = c.order[i]
	}
	return object, found
}

// find finds an object by identity or, failing that, by slug.
func (c *collection[T]) find(ref string) (object T, found bool) {
	if object, found = c.exact(ref); found {
		return object, true
	}
	i, found := c.bySlug[ref]
	if found {
		object = c.order[i]
	}
	return object, found
}

func (c *collection[T]) hasSlug(slug string) bool {
	_, found := c.bySlug[slug]
	return found
}

func (c *collection[T]) len() int { return len(c.byIdentity) }

func (c *collection[T]) remove(object T) {
	identity, slug := object.key()
	i, found := c.byIdentity[identity]
	if !found {
		return
	}
	var none T
	c.order[i] = none
	delete(c.byIdentity, identity)
	delete(c.bySlug, slug)
	if len(c.order) > 2*len(c.byIdentity) {
		c.compact()
	}
}

// compact drops the holes that remove left, often enough to bound memory and
// seldom enough to keep removal cheap.
func (c *collection[T]) compact() {
	kept := make([]T, 0, len(c.byIdentity))
	for object := range c.all() {
		identity, slug := object.key()
		c.byIdentity[identity], c.bySlug[slug] = len(kept), len(kept)
		kept = append(kept, object)
	}
	c.order = kept
}

// all yields the objects in order. The collection may shrink meanwhile.
func (c *collection[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		for _, object := range c.order {
			if object != none && !yield(object) {
				return
			}
		}
	}
}
