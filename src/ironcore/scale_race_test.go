//go:build race

package ironcore

// The race detector takes ten times as long. The same code runs with a server that has all differences.
const eachSwitch = false
