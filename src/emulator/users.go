package emulator

import (
	"cmp"
	"maps"
	"slices"
)

// user is an object that needs another one.
type user struct{ kind, identity string }

// users are what keeps an object from being deleted. The zero value is empty.
type users map[user]bool

func (u *users) add(kind, identity string) {
	if *u == nil {
		*u = users{}
	}
	(*u)[user{kind, identity}] = true
}

func (u users) remove(kind, identity string) { delete(u, user{kind, identity}) }

// check refuses the deletion of an object that is in use, and names one user.
func (u users) check(kind, identity string) error {
	if len(u) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(u)), func(a, b user) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.identity, b.identity))
	})
	if others := len(u) - 1; others > 0 {
		return conflict("%s %q is in use by %s %q and %d more; delete or change those first", kind, identity, first.kind, first.identity, others)
	}
	return conflict("%s %q is in use by %s %q; delete or change that first", kind, identity, first.kind, first.identity)
}
