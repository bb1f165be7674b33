package thalassa

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestConformance: all controllers work with this cloud as with any other.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Cloud {
		t.Helper()
		c := &conformanceCloud{lab: newLab(t, emulator.Config{}), machines: map[string]string{}}
		c.network, c.next = c, c.network
		c.config.Routes.Enabled, c.config.LoadBalancer.RemoveOrphans = true, true
		return conformance.Cloud{
			New: c.new,
			// Lists are compared every drift period, and a list may be older than the one before.
			Reaction: 11 * time.Minute, NodePorts: true, Provision: 2 * time.Minute, ReadsPerHour: 100,
			Reads: func() int { return int(c.reads.Load()) }, Writes: func() int { return int(c.writes.Load()) },
			AddMachine:    c.addMachine,
			StopMachine:   func(name string) { c.must(c.emulator.StopMachine(c.machines[name])) },
			StartMachine:  func(name string) { c.must(c.emulator.StartMachine(c.machines[name])) },
			DeleteMachine: func(name string) { c.must(c.emulator.DeleteMachine(c.machines[name])) },
			LoadBalancer:  c.loadBalancer, RemoveTarget: c.removeTarget, NextHop: c.nextHop, DeleteRoute: c.deleteRoute,
		}
	})
}

// conformanceCloud is an emulated cloud that counts the requests of controllers.
type conformanceCloud struct {
	*lab
	next          http.RoundTripper
	reads, writes atomic.Int64
	machines      map[string]string // identities, by name
}

// RoundTrip counts the requests, except those for tokens.
func (c *conformanceCloud) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case strings.HasSuffix(request.URL.Path, "/oidc/token"):
	case request.Method == http.MethodGet:
		c.reads.Add(1)
	default:
		c.writes.Add(1)
	}
	return c.next.RoundTrip(request)
}

func (c *conformanceCloud) new() *cloud.Cloud {
	c.restart()
	return c.cloud.Offer()
}

func (c *conformanceCloud) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *conformanceCloud) addMachine(name string) {
	id, err := c.emulator.AddMachine(emulator.MachineSpec{Name: name})
	c.must(err)
	c.machines[name] = id
}

// nameOf returns the name of a machine.
func (c *conformanceCloud) nameOf(identity string) string {
	for name, id := range c.machines {
		if id == identity {
			return name
		}
	}
	return identity
}

func (c *conformanceCloud) loadBalancer(service types.NamespacedName) (conformance.LoadBalancer, bool) {
	var found conformance.LoadBalancer
	state, exists := c.emulator.State(), false
	machines := map[string]bool{}
	for _, balancer := range state.LoadBalancers {
		if balancer.Labels[label.ServiceName] != service.Name {
			continue
		}
		exists = true
		for _, listener := range balancer.Listeners {
			found.Ports = append(found.Ports, int32(listener.Port))
			for _, target := range listener.Targets {
				machines[c.nameOf(target.Machine)] = true
			}
		}
	}
	slices.Sort(found.Ports)
	found.Machines = slices.Sorted(maps.Keys(machines))
	return found, exists
}

func (c *conformanceCloud) removeTarget(service types.NamespacedName, machine string) {
	for _, group := range c.emulator.State().TargetGroups {
		if group.Labels[label.ServiceName] != service.Name {
			continue
		}
		batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.Identity}
		for _, identity := range group.Machines {
			if identity != c.machines[machine] {
				batch.Attachments = append(batch.Attachments, iaas.AttachTarget{ServerIdentity: identity})
			}
		}
		c.must(c.api().SetTargetGroupServerAttachments(c.Context(), batch))
	}
}

// route returns the table and the route to a destination; nil if there is none.
func (c *conformanceCloud) route(destination netip.Prefix) (table string, route *iaas.RouteEntry) {
	tables, err := c.api().ListRouteTables(c.Context(), &iaas.ListRouteTablesRequest{})
	c.must(err)
	for _, table := range tables {
		found, err := c.api().GetRouteTable(c.Context(), table.Identity)
		c.must(err)
		for i := range found.Routes {
			if found.Routes[i].DestinationCidrBlock == destination.String() {
				return table.Identity, &found.Routes[i]
			}
		}
	}
	return "", nil
}

func (c *conformanceCloud) nextHop(destination netip.Prefix) string {
	_, route := c.route(destination)
	if route == nil || route.GatewayAddress == nil {
		return ""
	}
	for name, identity := range c.machines {
		machine, err := c.api().GetMachine(c.Context(), identity)
		c.must(err)
		if slices.Contains(machine.Interfaces[0].IPAddresses, *route.GatewayAddress) {
			return name
		}
	}
	return *route.GatewayAddress
}

func (c *conformanceCloud) deleteRoute(destination netip.Prefix) {
	table, route := c.route(destination)
	if route == nil {
		c.Fatalf("there is no route to %s", destination)
	}
	c.must(c.api().DeleteRouteTableRoute(c.Context(), table, route.Identity))
}
