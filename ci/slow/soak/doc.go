// Package soak runs two cloud controller managers for a long time, between a real API server and an emulated cloud,
// while calls to the cloud fail, Services and nodes change, and processes end, all at random. After each round nothing
// is missing in the cloud, nothing is left in it, and the processes need as little as before.
package soak
