package object

import (
	"cmp"
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// user is an object that needs another one.
type user struct{ kind, identity string }

// Users are what keeps an object from being deleted. The zero value is empty.
type Users map[user]bool

// Add records a user.
func (u *Users) Add(kind, identity string) {
	if *u == nil {
		*u = Users{}
	}
	(*u)[user{kind, identity}] = true
}

// Remove removes a user.
func (u Users) Remove(kind, identity string) { delete(u, user{kind, identity}) }

// Check refuses the deletion of an object that is in use, and names one user.
func (u Users) Check(kind, identity string) error {
	if len(u) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(u)), func(a, b user) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.identity, b.identity))
	})
	if others := len(u) - 1; others > 0 {
		return apierror.Conflict("%s %q is in use by %s %q and %d more; delete or change those first", kind, identity,
			first.kind, first.identity, others)
	}
	return apierror.Conflict("%s %q is in use by %s %q; delete or change that first", kind, identity, first.kind,
		first.identity)
}
