package benchtest_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
)

// TestMemory: memory that is in use is live, and a part of the peak.
func TestMemory(t *testing.T) {
	const size = 64
	benchtest.ForgetMemory()
	before := benchtest.LiveMemory()
	block := make([]byte, size<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	live, peak := benchtest.LiveMemory(), benchtest.PeakMemory()
	runtime.KeepAlive(block)
	if live-before < size-1 || peak < live {
		t.Errorf("%.1f MiB live after %.1f, peak %.1f, want %d more, and a higher peak", live, before, peak, size)
	}
}

// TestCPU: work takes CPU time.
func TestCPU(t *testing.T) {
	began := benchtest.CPU(t)
	benchtest.Until(t, func() bool {
		for range 1000 {
			runtime.GC()
			if benchtest.CPU(t) > began {
				return true
			}
		}
		return false
	})
}

const variable = "BENCHTEST_SERVER"

func TestMain(m *testing.M) {
	machines := os.Getenv(variable)
	if machines == "" {
		os.Exit(m.Run())
	}
	fmt.Println(machines)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestStartServer: a server gets its number of machines, its answer is read, and it ends with the test.
func TestStartServer(t *testing.T) {
	var machines int
	t.Run("server", func(t *testing.T) { benchtest.StartServer(t, variable, 7, &machines) })
	if machines != 7 {
		t.Errorf("the server has %d machines, want 7", machines)
	}
}
