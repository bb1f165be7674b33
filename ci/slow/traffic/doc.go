// Package traffic proves that no connection fails: behind a load balancer of a real cluster and an emulated cloud
// whose load balancers carry connections, while everything changes that can change.
package traffic
