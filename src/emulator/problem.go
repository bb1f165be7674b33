package emulator

import (
	"fmt"
	"net/http"
)

// Statuses that stand for Switches of their own.
const (
	statusQuota  = -1 // QuotaStatus
	statusTarget = -2 // TargetStatus
)

// problem is an error that the API answers with a status and a message.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

func invalid(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// untargetable is an error about a machine that cannot be attached.
func untargetable(format string, args ...any) error {
	return &problem{statusTarget, fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &problem{http.StatusConflict, fmt.Sprintf(format, args...)}
}

func notFound(kind, ref string) error {
	return &problem{http.StatusNotFound, fmt.Sprintf("%s %q not found", kind, ref)}
}

func unauthorised(format string, args ...any) error {
	return &problem{http.StatusUnauthorized, fmt.Sprintf(format, args...)}
}

func forbidden(format string, args ...any) error {
	return &problem{http.StatusForbidden, fmt.Sprintf(format, args...)}
}
