package thalassa

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// quietMinutes is how long nothing happens in a large cluster.
const quietMinutes = 15

// tierSizes is how much tests of this package do. The counts of calls for each object are the same in a smaller
// cluster.
type tierSizes struct {
	// largeSize is the number of Services and of nodes of a large cluster.
	largeSize int
	// lifecycleNodes is how many nodes the budgets of the life cycle are for.
	lifecycleNodes int
	// subsetNodes is how many nodes join and leave, one after the other, while load balancers have few targets.
	subsetNodes int
	// failureTime is how long the cloud fails while a Node must not be removed.
	failureTime time.Duration
	// faultShare is how many faults there are for each that a fault test tries: with 1, every call of every story
	// fails in every way.
	faultShare int
	// someLives are those that TestLives tries unless a variable says otherwise, and the most of each kind that
	// TestLivesThatFailed repeats.
	someLives int
	// routeLives are more, because each is short, and the worst coincidences are rare.
	routeLives int
}

func tierSize() tierSizes {
	return tier.Pick(
		tierSizes{largeSize: 100, lifecycleNodes: 1000, subsetNodes: 5,
			failureTime: 20 * time.Minute, faultShare: 32, someLives: 1, routeLives: 2},
		tierSizes{largeSize: 1000, lifecycleNodes: 10000, subsetNodes: 25,
			failureTime: 2 * time.Hour, faultShare: 1, someLives: 8, routeLives: 30})
}
