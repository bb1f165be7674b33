package cloud_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestReason: what the controllers do with an error depends on the first Reason in it.
func TestReason(t *testing.T) {
	failed := errors.New("quota exceeded")
	tests := map[string]struct {
		err                    error
		waits, lasts, reported bool
	}{
		"nil":               {nil, false, false, false},
		"a failure":         {failed, false, false, false},
		"the cloud is busy": {cloud.Busy("creating", time.Minute), true, false, true},
		"retried later":     {cloud.Reason{Err: failed, Until: time.Minute}, false, false, false},
		"in a notice":       {cloud.Reason{Err: failed, Reported: true}, false, false, true},
		"until the Service": {cloud.Reason{Err: failed, Until: cloud.ServiceChanges}, false, true, false},
		"until then, in a notice": {cloud.Reason{Err: failed, Until: cloud.ServiceChanges, Reported: true},
			false, true, true},
		"wrapped and joined": {errors.Join(failed, fmt.Errorf("looking: %w", cloud.Busy("creating", time.Minute))),
			true, false, true},
	}
	for name, tt := range tests {
		reason := cloud.ReasonOf(tt.err)
		if reason.Waits() != tt.waits || reason.Lasts() != tt.lasts || reason.Reported != tt.reported {
			t.Errorf("%s: waits %t, lasts %t, reported %t", name, reason.Waits(), reason.Lasts(), reason.Reported)
		}
	}
	if later := (cloud.Reason{Err: failed, Until: time.Minute}); !errors.Is(later, failed) ||
		later.Error() != failed.Error() {
		t.Errorf("the reason %v hides its cause", later)
	}
}
