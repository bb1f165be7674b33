package ironcore

import "github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"

// tierSizes is how much tests of this package do. The counts of requests for each object are the same in a smaller
// cluster.
type tierSizes struct {
	// eachSwitch means that controllers also run with a server that has one difference only.
	eachSwitch bool
	// faultShare is how many requests there are for each at which a process ends: with 1, it ends at every request of
	// every story.
	faultShare int
	// someLives are those that TestLives tries unless a variable says otherwise.
	someLives int
	// largeNodes and largeServices are the sizes of a large cluster.
	largeNodes, largeServices int
}

func tierSize() tierSizes {
	return tier.Pick(tierSizes{faultShare: 16, someLives: 1, largeNodes: 50, largeServices: 20},
		tierSizes{eachSwitch: true, faultShare: 1, someLives: 10, largeNodes: 1000, largeServices: 200})
}
