//go:build !race

package declaration

// scenarioShare is 1: every scenario is driven.
const scenarioShare = 1
