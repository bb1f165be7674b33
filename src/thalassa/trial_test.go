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

// TestFaults lets every single call of the stories fail in every way, once and three times in a row.
func TestFaults(t *testing.T) {
	for _, story := range stories() {
		if !story.sampled {
			trial.Faults(t, story.scenario("", nil))
		}
	}
}

// TestSample lets some calls of the other stories fail, and of all stories in clouds that behave in other ways.
func TestSample(t *testing.T) {
	const many, some = 40, 12
	for _, story := range stories() {
		if story.sampled {
			trial.Sample(t, story.scenario("", nil), many)
		}
		for _, scenario := range story.everywhere()[1:] {
			trial.Sample(t, scenario, some)
		}
	}
}

// TestLateFilters: lists with a label filter may be late, and an answer may be lost, and no second load balancer comes of it. A
// process that ends besides is beyond that: nobody who just started can doubt a list that looks true.
func TestLateFilters(t *testing.T) {
	const many = 60
	late := func(c *emulator.Config) { c.Delays.LabelFilters = lagging }
	for _, story := range stories() {
		if story.name == "create" {
			trial.Sample(t, story.scenario("label-filters-late", late), many)
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
