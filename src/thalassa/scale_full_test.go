//go:build !race

package thalassa

import "time"

// make test runs these tests both with the race detector and without it, because of what they are without it.
const (
	// largeSize is the number of Services and of nodes of a large cluster, and quietMinutes how long nothing happens in
	// it.
	largeSize    = 1000
	quietMinutes = 15
	// lifecycleNodes is how many nodes the budgets of the life cycle are for.
	lifecycleNodes = 5000
	// subsetNodes is how many nodes join and leave, one after the other, while load balancers have few targets.
	subsetNodes = 25
	// refusedNodes is how many nodes wait for routes that the cloud refuses.
	refusedNodes = 100
	// failureTime is how long the cloud fails while a Node must not be removed.
	failureTime = 2 * time.Hour
	// faultShare is 1: every call of every story fails in every way.
	faultShare = 1
	// someLives are those that TestLives tries unless a variable says otherwise, and the most of each kind that
	// TestLivesThatFailed repeats.
	someLives = 8
	// routeLives are so many because each is short, and the worst coincidences are rare.
	routeLives = 30
)
