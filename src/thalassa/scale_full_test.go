//go:build !race

package thalassa

// citySize is how many Services and nodes a large cluster has, and quietMinutes how long nothing happens in it.
const (
	citySize     = 1000
	quietMinutes = 15
)
