//go:build race

package thalassa

// The race detector takes ten times as long and as much memory, and what is counted is the same in a smaller cluster.
const (
	citySize     = 100
	quietMinutes = 15
)
