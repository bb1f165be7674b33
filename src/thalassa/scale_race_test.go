//go:build race

package thalassa

// The race detector takes ten times as long and as much memory. What is counted is the same in a smaller cluster, and
// the code that runs is the same in one of eight trials.
const (
	citySize     = 100
	quietMinutes = 15
	trialShare   = 8
)
