//go:build linux

package netns

import "errors"

// set is what the kernel has of one kind: addresses, routes, rules. What fails is tried again next time.
type set[K comparable] map[K]bool

// reconcile makes the kernel have exactly the wanted ones. What goes, goes first,
// because what comes may take its place.
func (s set[K]) reconcile(wanted []K, remove, add func(K) error) error {
	return errors.Join(s.drop(wanted, remove), s.add(wanted, add))
}

// drop removes what is not among the wanted ones.
func (s set[K]) drop(wanted []K, remove func(K) error) error {
	keep := map[K]bool{}
	for _, one := range wanted {
		keep[one] = true
	}
	var failed []error
	for one := range s {
		if keep[one] {
			continue
		}
		if err := remove(one); err != nil {
			failed = append(failed, err)
			continue
		}
		delete(s, one)
	}
	return errors.Join(failed...)
}

// add adds the wanted ones that are not there yet.
func (s set[K]) add(wanted []K, add func(K) error) error {
	var failed []error
	for _, one := range wanted {
		if s[one] {
			continue
		}
		if err := add(one); err != nil {
			failed = append(failed, err)
			continue
		}
		s[one] = true
	}
	return errors.Join(failed...)
}
