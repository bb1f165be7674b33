//go:build race

package ironcore

// The race detector takes ten times as long. The counts are the same in a smaller cluster, and the same code runs in
// one of many fault tests, and with a server that has all differences.
const (
	eachSwitch                = false
	faultShare                = 16
	someLives                 = 2
	largeNodes, largeServices = 50, 20
)
