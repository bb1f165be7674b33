//go:build !race

package thalassa

// citySize is how many Services and nodes a large cluster has, and quietMinutes how long nothing happens in it.
// Names of tests that use them begin with TestBudgets: ci/run.sh runs those without the race detector, too.
const (
	citySize     = 1000
	quietMinutes = 15
)
