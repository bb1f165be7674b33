// Package signaturetest has tests that cosign's own library accepts the signatures of a release, and nothing else.
package signaturetest
