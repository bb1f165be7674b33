//go:build race

package ironcore

// The race detector takes ten times as long. The counts are the same in a smaller cluster, and the same code runs in
// one of many fault tests.
const (
	faultShare                = 16
	largeNodes, largeServices = 50, 20
)
