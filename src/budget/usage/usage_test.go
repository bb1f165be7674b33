package usage_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/usage"
)

// TestMemory: memory that is in use is live, and a part of the peak.
func TestMemory(t *testing.T) {
	const size = 64
	usage.ForgetMemory()
	before := usage.LiveMemory()
	block := make([]byte, size<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	live, peak := usage.LiveMemory(), usage.PeakMemory()
	runtime.KeepAlive(block)
	if live-before < size-1 || peak < live {
		t.Errorf("%.1f MiB live after %.1f, peak %.1f, want %d more, and a higher peak", live, before, peak, size)
	}
}

// TestCPU: work takes CPU time.
func TestCPU(t *testing.T) {
	began, err := usage.CPU()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		now, err := usage.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if now > began {
			return
		}
	}
	t.Error("a minute of work took no CPU time")
}
