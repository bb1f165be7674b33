package emulator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

type thing struct{ identity, slug string }

func (t *thing) key() (identity, slug string) { return t.identity, t.slug }

func TestCollectionFinds(t *testing.T) {
	var c collection[*thing]
	if _, found := c.find("a"); found || c.hasSlug("a") || c.len() != 0 {
		t.Error("an empty collection finds something")
	}
	// The second one's slug is the first one's identity.
	one, two := &thing{"a", "slug-a"}, &thing{"b", "a"}
	c.add(one)
	c.add(two)
	for ref, want := range map[string]*thing{"a": one, "slug-a": one, "b": two} {
		if got, found := c.find(ref); !found || got != want {
			t.Errorf("find(%q) = %v, want %v", ref, got, want)
		}
	}
	if _, found := c.exact("slug-a"); found {
		t.Error("exact finds by slug")
	}
	if !c.hasSlug("a") || c.hasSlug("b") {
		t.Error("hasSlug confuses identities and slugs")
	}
	c.remove(one)
	c.remove(one)
	if got, found := c.find("a"); !found || got != two {
		t.Errorf("find(a) after removal = %v, want the one with that slug", got)
	}
}

// A long random run is compared with a plain slice.
func TestCollectionKeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var c collection[*thing]
	var model []*thing
	for i := range 2000 {
		if len(model) > 0 && random.IntN(100) < 48 {
			at := random.IntN(len(model))
			c.remove(model[at])
			model = slices.Delete(model, at, at+1)
		} else {
			next := &thing{fmt.Sprintf("id-%d", i), fmt.Sprintf("slug-%d", i)}
			c.add(next)
			model = append(model, next)
		}
		if got := slices.Collect(c.all()); !slices.Equal(got, model) || c.len() != len(model) {
			t.Fatalf("step %d: %d objects, want %d in order of addition", i, len(got), len(model))
		}
	}
	for _, want := range model {
		if got, found := c.find(want.slug); !found || got != want {
			t.Errorf("find(%s) = %v", want.slug, got)
		}
	}
}

func TestCollectionMayShrinkWhileRead(t *testing.T) {
	var c collection[*thing]
	for i := range 10 {
		c.add(&thing{fmt.Sprint(i), "s" + fmt.Sprint(i)})
	}
	read := 0
	for object := range c.all() {
		c.remove(object)
		read++
	}
	if read != 10 || c.len() != 0 {
		t.Errorf("read %d, left %d, want all read and none left", read, c.len())
	}
	for range c.all() {
		t.Error("an emptied collection yields something")
	}
}

func TestCollectionStaysSmall(t *testing.T) {
	var c collection[*thing]
	for i := range 10_000 {
		object := &thing{fmt.Sprint(i), "s" + fmt.Sprint(i)}
		c.add(object)
		c.remove(object)
	}
	if len(c.order) > 10 {
		t.Errorf("an empty collection has %d slots", len(c.order))
	}
}
