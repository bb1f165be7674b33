//go:build race

package thalassa

import "time"

// The race detector takes ten times as long and as much memory. The counts are the same in a smaller cluster, and the
// same code runs in one of eight fault tests and lives.
const (
	largeSize      = 100
	quietMinutes   = 15
	lifecycleNodes = 1000
	subsetNodes    = 5
	refusedNodes   = 20
	failureTime    = 20 * time.Minute
	faultShare     = 8
	someLives      = 1
	routeLives     = 4
)
