package thalassa

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
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

// TestCrash ends the process at every single call of every story, before and after the cloud did what it asked for. In
// the quick tier, it does so at some calls, and TestSample tries the clouds that behave in other ways.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, story := range stories() {
		scenarios := story.everywhere()
		for _, scenario := range tier.Pick(scenarios[:1], scenarios) {
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

// TestSample lets some calls of the other stories fail, and of all stories in clouds that behave in other ways. In the
// quick tier, a story that such clouds are for is tried in these only.
func TestSample(t *testing.T) {
	t.Parallel()
	const many, some = 25, 12
	for _, story := range stories() {
		others := story.everywhere()[1:]
		if !story.complete && (tier.Full() || len(others) == 0) {
			faulttest.Sample(t, story.scenario("", nil), many)
		}
		for _, scenario := range others {
			faulttest.Sample(t, scenario, some)
		}
	}
}

// TestChaos lets calls of every story fail, and processes end, at random. In the quick tier, it tries some stories.
func TestChaos(t *testing.T) {
	t.Parallel()
	const seeds = 6
	for _, story := range stories() {
		scenarios := story.everywhere()
		if !tier.Has(story.name, 3) {
			continue
		}
		for _, scenario := range tier.Pick(scenarios[:1], scenarios) {
			faulttest.Chaos(t, scenario, seeds)
		}
	}
}
