// Package csitest runs the tests of the CSI specification against the CSI driver and the emulator, and the driver with
// the programs that drive it in a cluster, with the permissions of the chart.
package csitest
