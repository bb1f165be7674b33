//go:build linux

package netns

import "errors"

// set is what the kernel has of one kind: addresses, routes, rules.
type set[K comparable] map[K]bool

// become makes the kernel have exactly the wanted ones. What goes, goes first,
// because what comes may take its place. What fails is tried again next time.
func (s set[K]) become(wanted []K, remove, add func(K) error) error {
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
