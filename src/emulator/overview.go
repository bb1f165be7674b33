package emulator

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Overview is the answer of GET /_emulator/overview: what all organisations have, without the targets of each listener,
// of which there can be millions. GET /_emulator/loadbalancers/{id} has those of one load balancer.
type Overview struct {
	// Revision is how many changes there were before. Events of GET /_emulator/events have it, too.
	Revision uint64 `json:"revision"`
	// Calls are the requests to the API since the start or the last reset.
	Calls int `json:"calls"`
	// Objects counts the objects by kind, also those that are not described here.
	Objects       map[string]int         `json:"objects"`
	VPCs          []VPCOverview          `json:"vpcs"`
	Machines      []MachineOverview      `json:"machines"`
	LoadBalancers []LoadBalancerOverview `json:"loadBalancers"`
	TargetGroups  []TargetGroupOverview  `json:"targetGroups"`
	Volumes       []VolumeOverview       `json:"volumes"`
	ReservedIPs   []ReservedIPState      `json:"reservedIps"`
	Faults        []fault.Status         `json:"faults"`
	Network       NetworkState           `json:"network"`
}

// Named is what every object of an Overview has.
type Named struct {
	Identity     string `json:"identity"`
	Name         string `json:"name"`
	Organisation string `json:"organisation"`
}

// VPCOverview describes one VPC.
type VPCOverview struct {
	Named
	Status      string               `json:"status"`
	Region      string               `json:"region"`
	CIDRs       []string             `json:"cidrs"`
	Subnets     []SubnetOverview     `json:"subnets"`
	RouteTables []RouteTableOverview `json:"routeTables"`
}

// SubnetOverview describes one subnet.
type SubnetOverview struct {
	Identity string `json:"identity"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	CIDR     string `json:"cidr"`
	// RouteTable is an identity.
	RouteTable string `json:"routeTable"`
}

// RouteTableOverview describes one route table.
type RouteTableOverview struct {
	Identity string          `json:"identity"`
	Name     string          `json:"name"`
	Default  bool            `json:"default"`
	Routes   []RouteOverview `json:"routes"`
}

// RouteOverview describes one route.
type RouteOverview struct {
	Destination string `json:"destination"`
	// Target is an address, or the identity of a NAT gateway or peering connection.
	Target string `json:"target"`
}

// MachineOverview describes one machine.
type MachineOverview struct {
	Named
	Subnet    string   `json:"subnet"`
	Zone      string   `json:"zone"`
	Type      string   `json:"type"`
	Status    string   `json:"status"`
	State     string   `json:"state"`
	Addresses []string `json:"addresses"`
}

// LoadBalancerOverview describes one load balancer.
type LoadBalancerOverview struct {
	Named
	Subnet    string             `json:"subnet"`
	Internal  bool               `json:"internal"`
	Status    string             `json:"status"`
	Addresses []string           `json:"addresses"`
	Listeners []ListenerOverview `json:"listeners"`
}

// ListenerOverview describes one listener.
type ListenerOverview struct {
	Identity string `json:"identity"`
	Name     string `json:"name"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	// TargetGroup is an identity.
	TargetGroup string `json:"targetGroup"`
	// Targets counts the machines of the target group, Healthy and Unhealthy those that the data plane checks.
	Targets   int    `json:"targets"`
	Healthy   int    `json:"healthy"`
	Unhealthy int    `json:"unhealthy"`
	Problem   string `json:"problem,omitempty"`
	traffic.Counters
}

// TargetGroupOverview describes one target group.
type TargetGroupOverview struct {
	Named
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Policy   string `json:"policy"`
	// HealthCheck is its protocol; empty without one.
	HealthCheck string `json:"healthCheck"`
	Listeners   int    `json:"listeners"`
	Targets     int    `json:"targets"`
}

// VolumeOverview describes one volume.
type VolumeOverview struct {
	Named
	Status string `json:"status"`
	Type   string `json:"type"`
	// Size is in GiB.
	Size int `json:"size"`
	// Machine is the identity of the machine that it is attached to, or empty.
	Machine string `json:"machine"`
}

// Overview describes what all organisations have.
func (e *Emulator) Overview() Overview {
	// Read first: the overview is at least as new as its revision.
	view := Overview{Revision: e.api.Events.Revision(), Objects: e.api.Objects(), Faults: e.Faults(),
		VPCs: []VPCOverview{}, Machines: []MachineOverview{}, LoadBalancers: []LoadBalancerOverview{},
		TargetGroups: []TargetGroupOverview{}, Volumes: []VolumeOverview{}, ReservedIPs: []ReservedIPState{}}
	for _, n := range e.Counters() {
		view.Calls += n
	}
	if problem := e.problem.Load(); problem != nil {
		view.Network.Problem = *problem
	}
	e.describe(&view)
	// Without the lock of the store, because it takes long for many targets.
	e.describeTraffic(&view)
	return view
}

// describe adds the objects.
func (e *Emulator) describe(view *Overview) {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	now := time.Now()
	e.api.ApplyDue(now)
	for org := range e.api.Store.Spaces() {
		for v := range org.VPCs.All() {
			view.VPCs = append(view.VPCs, describeVPC(org, v, now))
		}
		for m := range org.Machines.All() {
			view.Machines = append(view.Machines, describeMachine(org, m, now))
		}
		for lb := range org.Loadbalancers.All() {
			view.LoadBalancers = append(view.LoadBalancers, describeLoadBalancer(org, lb, now))
		}
		for g := range org.TargetGroups.All() {
			view.TargetGroups = append(view.TargetGroups, describeGroup(org, g))
		}
		for v := range org.Volumes.All() {
			view.Volumes = append(view.Volumes, describeVolume(org, v, now))
		}
		for ip := range org.ReservedIPs.All() {
			view.ReservedIPs = append(view.ReservedIPs, summariseReservedIP(ip, org, now))
		}
	}
}

func named(org *state.Organisation, r object.Record) Named {
	return Named{Identity: r.Identity, Name: r.Name, Organisation: org.Identity}
}

func describeVPC(org *state.Organisation, v *state.VPC, now time.Time) VPCOverview {
	out := VPCOverview{Named: named(org, v.Record), Status: v.At(now).String(), Region: v.Region.Slug,
		CIDRs: state.Texts(v.CIDRs), Subnets: []SubnetOverview{}, RouteTables: []RouteTableOverview{}}
	for _, s := range v.Subnets {
		subnet := SubnetOverview{Identity: s.Identity, Name: s.Name, Status: s.At(now).String(), CIDR: s.CIDR()}
		if s.Table != nil {
			subnet.RouteTable = s.Table.Identity
		}
		out.Subnets = append(out.Subnets, subnet)
	}
	for t := range org.RouteTables.All() {
		if t.VPC == v {
			out.RouteTables = append(out.RouteTables, describeTable(t))
		}
	}
	return out
}

func describeTable(t *state.RouteTable) RouteTableOverview {
	out := RouteTableOverview{Identity: t.Identity, Name: t.Name, Default: t.IsDefault, Routes: []RouteOverview{}}
	for r := range t.Routes.All() {
		out.Routes = append(out.Routes, RouteOverview{Destination: r.Destination.String(), Target: r.Target()})
	}
	return out
}

func describeMachine(org *state.Organisation, m *state.Machine, now time.Time) MachineOverview {
	return MachineOverview{Named: named(org, m.Record), Subnet: m.Subnet.Name, Zone: m.Zone(), Type: m.TypeName(),
		Status: m.Status(now), State: m.State(now), Addresses: state.Texts(m.Addresses)}
}

func describeLoadBalancer(org *state.Organisation, lb *state.Loadbalancer, now time.Time) LoadBalancerOverview {
	out := LoadBalancerOverview{Named: named(org, lb.Record), Subnet: lb.Subnet.Name, Internal: lb.Internal,
		Status: lb.Status(now), Addresses: []string{}, Listeners: []ListenerOverview{}}
	if !lb.Creating(now) {
		out.Addresses = state.Texts(lb.Addresses())
	}
	for _, l := range lb.Listeners {
		out.Listeners = append(out.Listeners, ListenerOverview{Identity: l.Identity, Name: l.Name, Port: l.Port,
			Protocol: l.Protocol, TargetGroup: l.Group.Identity, Targets: l.Group.Attachments.Len()})
	}
	return out
}

func describeGroup(org *state.Organisation, g *state.TargetGroup) TargetGroupOverview {
	out := TargetGroupOverview{Named: named(org, g.Record), Port: g.Port, Protocol: g.Protocol, Policy: g.Policy,
		Listeners: len(g.Listeners), Targets: g.Attachments.Len()}
	if g.Health != nil {
		out.HealthCheck = g.Health.Protocol
	}
	return out
}

func describeVolume(org *state.Organisation, v *state.Volume, now time.Time) VolumeOverview {
	out := VolumeOverview{Named: named(org, v.Record), Status: v.Status(now), Type: v.Type.Name, Size: v.SizeAt(now)}
	if a := v.Attachment(now); a != nil {
		out.Machine = a.Machine.Identity
	}
	return out
}

// describeTraffic adds what the data plane says about listeners.
func (e *Emulator) describeTraffic(view *Overview) {
	for i := range view.LoadBalancers {
		lb := &view.LoadBalancers[i]
		served := e.served(lb.Identity)
		for j := range lb.Listeners {
			l := &lb.Listeners[j]
			status := served[l.Identity]
			l.Problem, l.Counters = status.Problem, status.Counters
			for _, target := range byMachine(status.Targets) {
				switch target.all {
				case traffic.Healthy:
					l.Healthy++
				case traffic.Unhealthy:
					l.Unhealthy++
				case traffic.Unchecked:
				}
			}
		}
	}
}
