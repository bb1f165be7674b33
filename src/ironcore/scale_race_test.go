//go:build race

package ironcore

// The race detector takes ten times as long. The same code runs in one of many fault tests.
const (
	faultShare = 16
)
