package state

// responseCache are the nested descriptions of objects (a VPC inside each of its
// machines), made once per answer: views share them, and the encoder copies what
// it has written before. They live while one reading request holds the store, so
// that they cannot outlive a change. What is shared must not be modified.
type responseCache map[any]any

// ShareViews makes descriptions shared until the returned function is called. Only a
// request that changes nothing may do so.
func (s *Store) ShareViews() (stop func()) {
	s.views = responseCache{}
	return func() { s.views = nil }
}

// cached finds the shared description of an object.
func cached[T any](s *Store, of any) (view *T, found bool) {
	if s.views == nil {
		return nil, false
	}
	view, found = s.views[of].(*T)
	return view, found
}

// cache shares the description of an object.
func cache[T any](s *Store, of any, view *T) *T {
	if s.views != nil {
		s.views[of] = view
	}
	return view
}
