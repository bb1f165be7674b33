package object

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

type thing struct{ identity, slug string }

func (t *thing) Key() (identity, slug string) { return t.identity, t.slug }

func TestCollectionFinds(t *testing.T) {
	var c Collection[*thing]
	if _, found := c.Find("a"); found || c.HasSlug("a") || c.Len() != 0 {
		t.Error("an empty collection finds something")
	}
	// The second one's slug is the first one's identity.
	one, two := &thing{"a", "slug-a"}, &thing{"b", "a"}
	c.Add(one)
	c.Add(two)
	for ref, want := range map[string]*thing{"a": one, "slug-a": one, "b": two} {
		if got, found := c.Find(ref); !found || got != want {
			t.Errorf("find(%q) = %v, want %v", ref, got, want)
		}
	}
	if _, found := c.Exact("slug-a"); found {
		t.Error("exact finds by slug")
	}
	if !c.HasSlug("a") || c.HasSlug("b") {
		t.Error("hasSlug confuses identities and slugs")
	}
	c.Remove(one)
	c.Remove(one)
	if got, found := c.Find("a"); !found || got != two {
		t.Errorf("find(a) after removal = %v, want the one with that slug", got)
	}
}

// A long random run is compared with a plain slice.
func TestCollectionKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var c Collection[*thing]
	var model []*thing
	for i := range 2000 {
		if len(model) > 0 && random.IntN(100) < 48 {
			at := random.IntN(len(model))
			c.Remove(model[at])
			model = slices.Delete(model, at, at+1)
		} else {
			next := &thing{fmt.Sprintf("id-%d", i), fmt.Sprintf("slug-%d", i)}
			c.Add(next)
			model = append(model, next)
		}
		if got := slices.Collect(c.All()); !slices.Equal(got, model) || c.Len() != len(model) {
			t.Fatalf("step %d: %d objects, want %d in order of addition", i, len(got), len(model))
		}
	}
	for _, want := range model {
		if got, found := c.Find(want.slug); !found || got != want {
			t.Errorf("find(%s) = %v", want.slug, got)
		}
	}
}

func TestCollectionMayShrinkWhileRead(t *testing.T) {
	var c Collection[*thing]
	for i := range 10 {
		c.Add(&thing{fmt.Sprint(i), "s" + fmt.Sprint(i)})
	}
	read := 0
	for object := range c.All() {
		c.Remove(object)
		read++
	}
	if read != 10 || c.Len() != 0 {
		t.Errorf("read %d, left %d, want all read and none left", read, c.Len())
	}
	for range c.All() {
		t.Error("an emptied collection yields something")
	}
}

func TestCollectionStaysSmall(t *testing.T) {
	var c Collection[*thing]
	for i := range 10_000 {
		object := &thing{fmt.Sprint(i), "s" + fmt.Sprint(i)}
		c.Add(object)
		c.Remove(object)
	}
	if len(c.Order) > 10 {
		t.Errorf("an empty collection has %d slots", len(c.Order))
	}
}
