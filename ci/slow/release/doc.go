// Package release holds the tests of a whole release: it is made of this repository as it is, published in a registry
// of the test, and used in every way that the documentation shows, and cosign's own library accepts its signatures. All
// of them belong to the full tier. What a release is made of has tests of its own in tools/release.
package release
