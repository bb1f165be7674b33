package benchtest

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

const mebi = 1 << 20

// ForgetMemory frees memory that is not in use, and lets PeakMemory start again where the system can do that: on Linux.
// Elsewhere the peak is that of the whole process.
func ForgetMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // see proc(5)
}

// PeakMemory returns the largest memory of the process in MiB, or what Go has from the system where that is not known.
func PeakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if _, after, found := bytes.Cut(status, []byte("VmHWM:")); err == nil && found {
		if fields := bytes.Fields(after); len(fields) > 0 {
			if kilobytes, err := strconv.ParseFloat(string(fields[0]), 64); err == nil {
				return kilobytes / 1024
			}
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return float64(memory.Sys) / mebi
}

// LiveMemory returns the memory that is reachable, in MiB.
func LiveMemory() float64 {
	runtime.GC()
	runtime.GC() // what the first one has only taken out of pools
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc) / mebi
}
