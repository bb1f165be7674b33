package thalassa

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
)

// TestMain collects garbage less often than usual: thousands of fault tests, each with a small cloud of its own, make
// much of it and keep little. The limit is for machines with little memory. As the cloud of a benchmark it is something
// else.
func TestMain(m *testing.M) {
	const percent, limit = 400, 1 << 30
	if machines := os.Getenv(cloudEnvironment); machines != "" {
		if err := serveCloud(machines); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	os.Exit(m.Run())
}

// TestCrash ends the process at every single call of every story, before and after the cloud did what it asked for.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, story := range stories() {
		for _, scenario := range story.everywhere() {
			faulttest.Crash(t, scenario)
		}
	}
}

// TestHandover changes leaders while every single call of every story is under way: the one that was asked to stop
// finishes it, the next one does the rest, and nothing is written twice.
func TestHandover(t *testing.T) {
	t.Parallel()
	for _, story := range stories() {
		faulttest.Handover(t, story.scenario("", nil))
	}
}

// TestFaults lets every single call of some stories fail in every way, once and three times in a row.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, story := range stories() {
		if story.complete {
			faulttest.Faults(t, story.scenario("", nil))
		}
	}
}

// TestSample lets some calls of the other stories fail, and of all stories in clouds that behave in other ways.
func TestSample(t *testing.T) {
	t.Parallel()
	const many, some = 25, 12
	for _, story := range stories() {
		if !story.complete {
			faulttest.Sample(t, story.scenario("", nil), many)
		}
		for _, scenario := range story.everywhere()[1:] {
			faulttest.Sample(t, scenario, some)
		}
	}
}

// TestChaos lets calls of every story fail, and processes end, at random.
func TestChaos(t *testing.T) {
	t.Parallel()
	const seeds = 6
	for _, story := range stories() {
		for _, scenario := range story.everywhere() {
			faulttest.Chaos(t, scenario, seeds)
		}
	}
}
