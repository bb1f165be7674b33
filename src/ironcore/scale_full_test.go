//go:build !race

package ironcore

// make test runs these tests both with the race detector and without it, because of what they are without it.
const (
	// eachSwitch means that controllers also run with a server that has one difference only.
	eachSwitch = true
	// faultShare is 1: the process ends at every request of every story.
	faultShare = 1
	// someLives are those that TestLives tries unless a variable says otherwise.
	someLives = 10
	// largeNodes and largeServices are the sizes of a large cluster.
	largeNodes, largeServices = 1000, 200
)
