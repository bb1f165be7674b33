package thalassa

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/trial"
)

// TestCrash ends the process at every single call of every story, before and after the cloud did what it asked for.
func TestCrash(t *testing.T) {
	for _, story := range stories() {
		for _, scenario := range story.everywhere() {
			trial.Crash(t, scenario)
		}
	}
}

// TestFaults lets every single call fail in every way.
func TestFaults(t *testing.T) {
	for _, story := range stories() {
		if !story.crashes {
			trial.Faults(t, story.scenario("", emulator.Switches{}))
		}
	}
}

// TestChaos lets calls of every story fail, and processes end, at random.
func TestChaos(t *testing.T) {
	const seeds = 6
	for _, story := range stories() {
		for _, scenario := range story.everywhere() {
			trial.Chaos(t, scenario, seeds)
		}
	}
}
