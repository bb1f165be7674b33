//go:build !race

package thalassa

// make test runs these tests both with the race detector and without it, because of what they are without it.
const (
	// citySize is how many Services and nodes a large cluster has, and quietMinutes how long nothing happens in it.
	citySize     = 1000
	quietMinutes = 15
	// trialShare is 1: every call of every story fails in every way.
	trialShare = 1
)
