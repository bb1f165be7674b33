// Package exampletest holds the tests of examples/services: every file is strictly decoded, accepted by a real API
// server with the admission policy in force, and gets the load balancer it asks for from an emulated cloud, without a
// warning. The policy of examples/nodes refuses what it says, and nothing else.
package exampletest
