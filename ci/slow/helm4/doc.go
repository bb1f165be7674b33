// Package helm4 proves that Helm 4 does with the charts what Helm 3 does: it renders the same objects and notes, and
// refuses the same values in the same words. What Helm 3 does is tested in ci/charttest.
package helm4
