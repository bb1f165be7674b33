// Package tier chooses how much tests do. There are two tiers: the quick one, which is `make test`, proves every
// promise at least once. The full one, which is `make test-full`, proves the rest: complete matrices, more sizes,
// more versions.
//
//	lives := tier.Pick(1, 8)
//
//	func TestEveryProfile(t *testing.T) {
//		tier.NeedFull(t)
//		...
//	}
package tier

import (
	"hash/fnv"
	"os"
	"testing"
)

const (
	// Variable is the environment variable that chooses the full tier with the value 1. Every other value is the
	// quick tier.
	Variable = "FULL"
	// Reason begins the reason of every test that NeedFull skips. The report of `make test` counts skipped tests by
	// it.
	Reason = "needs make test-full: "
)

// Full reports whether the full tier runs.
func Full() bool { return os.Getenv(Variable) == "1" }

// Pick returns the value for the tier that runs.
func Pick[T any](quick, full T) T {
	if Full() {
		return full
	}
	return quick
}

// Has reports whether the tier that runs has one of many cases that are alike: the full tier has all of them, the
// quick one about one of n. Which ones depends on their names only.
func Has(name string, n uint32) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return Full() || hash.Sum32()%n == 0
}

// NeedFull skips a test in the quick tier. The test must add to what a test of the quick tier proves, or prove what
// CONTRIBUTING lists as proven by the full tier only.
func NeedFull(tb testing.TB) {
	tb.Helper()
	if !Full() {
		tb.Skip(Reason + Variable + " is not 1") //nolint:forbidigo // only this and roottest.Need skip
	}
}
