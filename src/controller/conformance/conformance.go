// Package conformance tests a cloud together with all controllers that use one, in virtual time: what users may expect
// of Nodes, load balancers and routes with any cloud. A cloud runs it in its own tests:
//
//	func TestConformance(t *testing.T) { conformance.Run(t, newCloud) }
package conformance

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Cloud is a cloud under test, and what its users see and do without the controllers.
type Cloud struct {
	// New returns the cloud as a new process makes it.
	New func() *cloud.Cloud
	// Reaction is the time in which the controllers react to a change in the cloud.
	Reaction time.Duration
	// NodePorts means that load balancers reach pods through node ports. Otherwise the Services have none.
	NodePorts bool
	// Provision is the time in which the cloud creates or deletes a load balancer.
	Provision time.Duration
	// ReadsPerHour is the largest number of requests that read from the cloud in an hour in which nothing changes.
	ReadsPerHour int
	// Reads and Writes return how many requests the controllers have made.
	Reads, Writes func() int

	// AddMachine adds a machine that runs. StopMachine, StartMachine and DeleteMachine change the machine with a name.
	AddMachine, StopMachine, StartMachine, DeleteMachine func(name string)
	// LoadBalancer returns the load balancer of a Service.
	LoadBalancer func(types.NamespacedName) (LoadBalancer, bool)
	// RemoveTarget removes a machine from the targets of the load balancer of a Service.
	RemoveTarget func(service types.NamespacedName, machine string)
	// NextHop returns the name of the machine that a route leads to; "" if there is no such route.
	NextHop func(destination netip.Prefix) string
	// DeleteRoute deletes a route.
	DeleteRoute func(destination netip.Prefix)
}

// LoadBalancer is what a user sees of a load balancer.
type LoadBalancer struct {
	Ports    []int32  // sorted
	Machines []string // names of the machines that are targets, sorted
}

// Run runs all tests. NewCloud is called for each, in a synctest bubble, and returns a cloud without objects.
func Run(t *testing.T, newCloud func(*testing.T) Cloud) {
	t.Helper()
	for name, test := range map[string]func(*rig){
		"a Node is initialised from its machine":                       nodeIsInitialised,
		"a Node waits for its machine":                                 nodeWaitsForMachine,
		"a stopped machine taints its Node":                            stoppedMachine,
		"the Node of a deleted machine is deleted":                     deletedMachine,
		"a Node that is ready is not deleted":                          readyNodeStays,
		"Nodes of other clouds are ignored":                            otherClouds,
		"a Service gets a load balancer":                               serviceLifeCycle,
		"targets follow the Nodes":                                     targetsFollowNodes,
		"a target that was removed in the cloud is added":              removedTarget,
		"a load balancer whose Service is gone is deleted if asked to": orphan,
		"pods are reached through routes":                              routesFollowNodes,
		"a route that was removed in the cloud is created":             removedRoute,
		"a restart writes nothing":                                     restart,
		"nothing is written while nothing changes, and little is read": quietHour,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, newCloud(t))
				test(r)
				r.wantNoWarnings()
			})
		})
	}
}
