// Package policytest holds the tests of the admission policy that is generated from the registry of Service
// annotations: a real API server evaluates what the chart renders, and has to come to the same verdict as the parser of
// the cloud controller manager.
package policytest
