package object

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Keyed is an object that can be found by identity and by slug.
type Keyed interface {
	comparable
	Key() (identity, slug string)
}

// Collection holds objects in the order in which they were added. Its zero
// value is empty and ready to use.
type Collection[T Keyed] struct {
	Order      []T
	ByIdentity map[string]int
	BySlug     map[string]int
}

// Add appends an object.
func (c *Collection[T]) Add(object T) {
	if c.ByIdentity == nil {
		c.ByIdentity, c.BySlug = map[string]int{}, map[string]int{}
	}
	identity, slug := object.Key()
	c.ByIdentity[identity] = len(c.Order)
	c.BySlug[slug] = len(c.Order)
	c.Order = append(c.Order, object)
}

// Exact finds an object by identity only.
func (c *Collection[T]) Exact(identity string) (object T, found bool) {
	i, found := c.ByIdentity[identity]
	if found {
		object = c.Order[i]
	}
	return object, found
}

// Find finds an object by identity or, failing that, by slug.
func (c *Collection[T]) Find(ref string) (object T, found bool) {
	if object, found = c.Exact(ref); found {
		return object, true
	}
	i, found := c.BySlug[ref]
	if found {
		object = c.Order[i]
	}
	return object, found
}

// HasSlug returns whether an object has the slug.
func (c *Collection[T]) HasSlug(slug string) bool {
	_, found := c.BySlug[slug]
	return found
}

// Len is the number of objects.
func (c *Collection[T]) Len() int { return len(c.ByIdentity) }

// Remove removes an object, if it is there.
func (c *Collection[T]) Remove(object T) {
	identity, slug := object.Key()
	i, found := c.ByIdentity[identity]
	if !found {
		return
	}
	var none T
	c.Order[i] = none
	delete(c.ByIdentity, identity)
	delete(c.BySlug, slug)
	if len(c.Order) > 2*len(c.ByIdentity) {
		c.compact()
	}
}

// compact drops the holes that remove left, often enough to bound memory and
// seldom enough to keep removal cheap.
func (c *Collection[T]) compact() {
	kept := make([]T, 0, len(c.ByIdentity))
	for object := range c.All() {
		identity, slug := object.Key()
		c.ByIdentity[identity], c.BySlug[slug] = len(kept), len(kept)
		kept = append(kept, object)
	}
	c.Order = kept
}

// All yields the objects in order. The collection may shrink meanwhile.
func (c *Collection[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		for _, object := range c.Order {
			if object != none && !yield(object) {
				return
			}
		}
	}
}

// ByAge sorts a collection by the times of its objects. Those of the same time keep their order.
func ByAge[T Keyed](c *Collection[T], age func(T) time.Time) {
	sorted := slices.Collect(c.All())
	slices.SortStableFunc(sorted, func(a, b T) int { return age(a).Compare(age(b)) })
	*c = Collected(sorted)
}

// Collected is a collection of objects.
func Collected[T Keyed](objects []T) (c Collection[T]) {
	for _, object := range objects {
		c.Add(object)
	}
	return c
}

// Insert adds an object unless its identity is taken.
func Insert[T Keyed](into *Collection[T], object T) error {
	identity, _ := object.Key()
	if _, taken := into.Exact(identity); taken {
		return fmt.Errorf("field \"identity\": %q is used twice", identity)
	}
	into.Add(object)
	return nil
}
