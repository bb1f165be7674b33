// Package csi runs the tests of the CSI specification against the CSI driver and the emulator, and both processes
// of the driver with what calls them in a cluster, with the permissions of the chart.
package csi
