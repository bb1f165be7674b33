// Package cloud is the contract between controllers and clouds: what a cloud offers, as small interfaces and plain
// values.
//
// Controllers import this package and no cloud; a cloud imports this package and no controller. The data flows one
// way. [Desire] is a pure function of a Service and its targets; a cloud compares its result with what it observes
// and returns the difference as a [Plan], which can be printed, counted, tested and applied:
//
//	Service, targets -> Desire -> LoadBalancers.Diff -> Plan -> LoadBalancers.Apply -> status
//
// Nothing here supposes that load balancers have listeners, target groups, node ports or health checks.
package cloud
