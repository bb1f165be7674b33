//go:build !race

package ironcore

// make test runs these tests both with the race detector and without it, because of what they are without it.
const (
	// faultShare is 1: every request of every story fails in every way.
	faultShare = 1
)
