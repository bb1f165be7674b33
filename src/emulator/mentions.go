package emulator

// mentions are the nested descriptions of objects (a VPC inside each of its
// machines), made once per answer: views share them, and the encoder copies what
// it has written before. They live while one reading request holds the store, so
// that they cannot outlive a change. Nobody may modify what is shared.
type mentions map[any]any

// share makes descriptions shared until the returned function is called. Only a
// request that changes nothing may do so.
func (s *store) share() (stop func()) {
	s.mentions = mentions{}
	return func() { s.mentions = nil }
}

// mentioned finds the shared description of an object.
func mentioned[T any](s *store, of any) (view *T, found bool) {
	if s.mentions == nil {
		return nil, false
	}
	view, found = s.mentions[of].(*T)
	return view, found
}

// mention shares the description of an object.
func mention[T any](s *store, of any, view *T) *T {
	if s.mentions != nil {
		s.mentions[of] = view
	}
	return view
}
