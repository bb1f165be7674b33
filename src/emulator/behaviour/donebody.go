package behaviour

import (
	"fmt"
	"net/http"
	"slices"
)

// DoneBody is the body of an answer that has no content to answer with.
type DoneBody string

// The bodies of such answers. The zero value means NoBody.
const (
	NoBody DoneBody = "none"
	// NullBody is null.
	NullBody DoneBody = "null"
	// ObjectBody is an object: the identity of what the request was about, and a
	// message.
	ObjectBody DoneBody = "object"
	// ListBody is an array with that object.
	ListBody DoneBody = "list"
)

// validateDoneBody refuses bodies in answers that cannot have any.
func (s Switches) validateDoneBody() error {
	if !slices.Contains([]DoneBody{"", NoBody, NullBody, ObjectBody, ListBody}, s.DoneBody) {
		return fmt.Errorf("switch DoneBody is %q: use %q, %q, %q or %q", s.DoneBody, NoBody, NullBody, ObjectBody,
			ListBody)
	}
	bodiless := s.DoneStatus == 0 || s.DoneStatus == http.StatusNoContent
	if s.DoneBody != "" && s.DoneBody != NoBody && bodiless {
		return fmt.Errorf("switch DoneBody is %q, which an answer with status 204 cannot have: set DoneStatus to 200 "+
			"or 202", s.DoneBody)
	}
	return nil
}
