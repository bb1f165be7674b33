package auth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
)

// The scopes that matter to the API that the emulator serves.
const (
	scopeRead  = "api:read"
	scopeWrite = "api:write"
)

// Scopes limit what credentials may do; nil limits nothing.
type Scopes []string

func parseScopes(texts []string) (Scopes, error) {
	return texts, iam.CheckScopes(texts)
}

// narrow are the scopes of a token that is asked for with a space-separated
// list: all there are when the list is empty.
func (s Scopes) narrow(wanted string) (Scopes, error) {
	asked, err := parseScopes(strings.Fields(wanted))
	if err != nil || len(asked) == 0 {
		return s, err
	}
	for _, scope := range asked {
		if s != nil && !slices.Contains(s, scope) {
			return nil, fmt.Errorf("scope %q is not among those of these credentials: %s", scope, s)
		}
	}
	return asked, nil
}

// among are the scopes that others have, too.
func (s Scopes) among(others Scopes) Scopes {
	switch {
	case s == nil:
		return others
	case others == nil:
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), func(scope string) bool { return !slices.Contains(others, scope) })
}

// equal returns whether two limits are the same. No limit is not the same as one that permits nothing.
func (s Scopes) equal(other Scopes) bool {
	return (s == nil) == (other == nil) && slices.Equal(s, other)
}

// Check reports whether a request is within the scopes. Who may write may read.
func (s Scopes) Check(method string) error {
	reads := method == http.MethodGet || method == http.MethodHead
	if s == nil || slices.Contains(s, scopeWrite) || reads && slices.Contains(s, scopeRead) {
		return nil
	}
	needed := scopeWrite
	if reads {
		needed = scopeRead
	}
	return apierror.Forbidden("these credentials lack scope %q; theirs are: %s", needed, s)
}

// String is the list as token responses have it.
func (s Scopes) String() string { return strings.Join(s, " ") }
