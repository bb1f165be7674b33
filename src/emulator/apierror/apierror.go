// Package apierror provides the errors that the API answers with: a status and a message.
package apierror

import (
	"fmt"
	"net/http"
)

// Statuses that stand for Switches of their own.
const (
	StatusQuota  = -1 // QuotaStatus
	StatusTarget = -2 // TargetStatus
	StatusDetach = -3 // DetachStatus
)

// Error is an error that the API answers with a status and a message.
type Error struct {
	Status  int
	message string
}

// Error implements error.
func (p *Error) Error() string { return p.message }

// Invalid is an error about the content of a request: 400.
func Invalid(format string, args ...any) error {
	return &Error{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// Untargetable is an error about a machine that cannot be attached.
func Untargetable(format string, args ...any) error {
	return &Error{StatusTarget, fmt.Sprintf(format, args...)}
}

// NotAttached is an error about a volume that is to be detached from where it is not.
func NotAttached(format string, args ...any) error {
	return &Error{StatusDetach, fmt.Sprintf(format, args...)}
}

// Exhausted is an error about a quota that is used up.
func Exhausted(format string, args ...any) error {
	return &Error{StatusQuota, fmt.Sprintf(format, args...)}
}

// Conflict is an error about the state of an object: 409, or Switches.ConflictStatus.
func Conflict(format string, args ...any) error {
	return &Error{http.StatusConflict, fmt.Sprintf(format, args...)}
}

// NotFound is an error about an object that does not exist: 404.
func NotFound(kind, ref string) error {
	return &Error{http.StatusNotFound, fmt.Sprintf("%s %q not found", kind, ref)}
}

// Missing is notFound with a message of its own.
func Missing(format string, args ...any) error {
	return &Error{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// Unserved is an error about what the emulator cannot do: 501.
func Unserved(format string, args ...any) error {
	return &Error{http.StatusNotImplemented, fmt.Sprintf(format, args...)}
}

// Unauthorised is an error about credentials that are not valid: 401.
func Unauthorised(format string, args ...any) error {
	return &Error{http.StatusUnauthorized, fmt.Sprintf(format, args...)}
}

// Forbidden is an error about what credentials may not do: 403, or Switches.PermissionStatus.
func Forbidden(format string, args ...any) error {
	return &Error{http.StatusForbidden, fmt.Sprintf(format, args...)}
}
