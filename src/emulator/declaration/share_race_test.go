//go:build race

package declaration

// scenarioShare is how many scenarios there are for each that is driven. The race detector takes six times as long, and
// these tests send one request after the other: what each request needs is tested without it.
const scenarioShare = 8
