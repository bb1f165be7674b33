// Package kustomizetest holds the tests of what is below kustomize/, built in this process by kustomize's own library:
// every overlay is the chart with the values file of its profile, no overlay runs before it was edited, every component
// fits every overlay it is meant for, a real API server on loopback accepts all of it, and the controller manager that
// an overlay installs works. No test needs a network.
package kustomizetest
