package manager

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
)

// TestTakeOver: with the default flags, a standby takes over at most 15 s after the leader was killed.
func TestTakeOver(t *testing.T) {
	attempt := time.Duration(float64(retryPeriod) * (1 + leaderelection.JitterFactor))
	if longest := attempt + leaseDuration + attempt; longest > 15*time.Second {
		t.Errorf("a standby takes over up to %s after the last renewal", longest)
	}
}
