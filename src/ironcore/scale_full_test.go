//go:build !race

package ironcore

// eachSwitch means that controllers also run with a server that has one difference only.
const eachSwitch = true
