// Package csitest runs the tests of the CSI specification against the CSI driver and the emulator.
package csitest
