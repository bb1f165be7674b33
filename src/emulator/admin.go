package emulator

import (
	"net/http"
	"strconv"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// State is the answer of GET /_emulator/state: what is behind the addresses of
// the load balancers.
type State struct {
	LoadBalancers []LoadBalancerState `json:"loadBalancers"`
	TargetGroups  []TargetGroupState  `json:"targetGroups"`
	ReservedIPs   []ReservedIPState   `json:"reservedIps"`
	Network       NetworkState        `json:"network"`
}

// LoadBalancerState summarises one load balancer.
type LoadBalancerState struct {
	Identity     string `json:"identity"`
	Name         string `json:"name"`
	Organisation string `json:"organisation"`
	// Labels are not to be modified.
	Labels map[string]string `json:"labels"`
	Status string            `json:"status"`
	// Addresses are empty until the load balancer is ready.
	Addresses []string        `json:"addresses"`
	Listeners []ListenerState `json:"listeners"`
}

// ListenerState summarises one listener.
type ListenerState struct {
	Identity string `json:"identity"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	// Served are the address:port pairs that answer; none without a data plane.
	Served []string `json:"served"`
	// Problem says why Served is not what one would expect.
	Problem string        `json:"problem,omitempty"`
	Targets []TargetState `json:"targets"`
	traffic.Counters
}

// TargetGroupState summarises one target group.
type TargetGroupState struct {
	Identity     string `json:"identity"`
	Name         string `json:"name"`
	Organisation string `json:"organisation"`
	// Labels are not to be modified.
	Labels map[string]string `json:"labels"`
	Port   int               `json:"port"`
	// Listeners are those that send it traffic, Machines those that are attached,
	// running or not; by identity.
	Listeners []string `json:"listeners"`
	Machines  []string `json:"machines"`
}

// TargetState summarises one target.
type TargetState struct {
	Machine string `json:"machine"`
	Address string `json:"address"`
	// Health is healthy, unhealthy, or unchecked when there is no health check
	// or no data plane. A family of addresses in which no target of the listener
	// is healthy does not count, if another has healthy ones.
	Health string `json:"health"`
	// IPv4 and IPv6 are the health in each family that is checked; empty in others.
	IPv4 string `json:"ipv4,omitempty"`
	IPv6 string `json:"ipv6,omitempty"`
	traffic.Counters
}

// ReservedIPState summarises one reserved IP.
type ReservedIPState struct {
	Identity     string   `json:"identity"`
	Name         string   `json:"name"`
	Organisation string   `json:"organisation"`
	Status       string   `json:"status"`
	Addresses    []string `json:"addresses"`
	// AttachedTo is the identity of a load balancer or NAT gateway, or empty.
	AttachedTo string `json:"attachedTo"`
}

func (e *Emulator) adminRoutes() {
	e.mux.HandleFunc("GET /_emulator/healthz", func(w http.ResponseWriter, _ *http.Request) {
		e.api.SendJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	e.mux.HandleFunc("GET /_emulator/counters", func(w http.ResponseWriter, _ *http.Request) {
		e.api.SendJSON(w, http.StatusOK, e.Counters())
	})
	e.mux.HandleFunc("POST /_emulator/counters/reset", func(w http.ResponseWriter, _ *http.Request) {
		e.ResetCounters()
		w.WriteHeader(http.StatusNoContent)
	})
	e.mux.HandleFunc("GET /_emulator/writes", e.getWrites)
	e.mux.HandleFunc("GET /_emulator/state", func(w http.ResponseWriter, _ *http.Request) {
		e.api.SendJSON(w, http.StatusOK, e.State())
	})
	e.mux.HandleFunc("GET /_emulator/seed", e.getSeed)
	e.mux.Handle("GET /_emulator/metrics", e.api.MetricsHandler())
	e.watchRoutes()
	e.faultRoutes()
	e.overrideRoutes()
}

// getWrites answers with the log of writes, or its end.
func (e *Emulator) getWrites(w http.ResponseWriter, r *http.Request) {
	writes := e.Writes()
	if text := r.URL.Query().Get("last"); text != "" {
		last, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			e.report(w, 0, nil, apierror.Invalid("last is %q: use a number of writes", text))
			return
		}
		writes = writes[max(0, len(writes)-int(last)):]
	}
	e.api.SendJSON(w, http.StatusOK, object.List(writes))
}

// State summarises the load balancers, target groups and reserved IPs of all
// organisations.
func (e *Emulator) State() State {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	now := time.Now()
	e.api.ApplyDue(now)
	state := State{LoadBalancers: []LoadBalancerState{}, TargetGroups: []TargetGroupState{},
		ReservedIPs: []ReservedIPState{}}
	for org := range e.api.Store.Spaces() {
		for lb := range org.Loadbalancers.All() {
			state.LoadBalancers = append(state.LoadBalancers, e.summarise(lb, now))
		}
		for g := range org.TargetGroups.All() {
			state.TargetGroups = append(state.TargetGroups, summariseGroup(g))
		}
		for ip := range org.ReservedIPs.All() {
			state.ReservedIPs = append(state.ReservedIPs, summariseReservedIP(ip, org, now))
		}
	}
	if problem := e.problem.Load(); problem != nil {
		state.Network.Problem = *problem
	}
	return state
}

func (e *Emulator) summarise(lb *state.Loadbalancer, now time.Time) LoadBalancerState {
	out := LoadBalancerState{
		Identity: lb.Identity, Name: lb.Name, Organisation: lb.Subnet.VPC.Org.Identity,
		Labels: lb.Labels, Status: lb.Status(now), Addresses: []string{}, Listeners: []ListenerState{},
	}
	if !lb.Creating(now) {
		out.Addresses = state.Texts(lb.Addresses())
	}
	served := e.served(lb.Identity)
	for _, l := range lb.Listeners {
		out.Listeners = append(out.Listeners, summariseListener(l, served[l.Identity]))
	}
	return out
}

func summariseGroup(g *state.TargetGroup) TargetGroupState {
	out := TargetGroupState{
		Identity: g.Identity, Name: g.Name, Organisation: g.VPC.Org.Identity, Labels: g.Labels, Port: g.Port,
		Listeners: []string{}, Machines: []string{},
	}
	for _, l := range g.Listeners {
		out.Listeners = append(out.Listeners, l.Identity)
	}
	for a := range g.Attachments.All() {
		out.Machines = append(out.Machines, a.Machine.Identity)
	}
	return out
}

// served is what the data plane says about the listeners of a load balancer.
func (e *Emulator) served(identity string) map[string]traffic.ListenerStatus {
	statuses := map[string]traffic.ListenerStatus{}
	if e.plane == nil {
		return statuses
	}
	status, _ := e.plane.Status(identity)
	for _, l := range status.Listeners {
		statuses[l.Identity] = l
	}
	return statuses
}

func summariseListener(l *state.Listener, status traffic.ListenerStatus) ListenerState {
	out := ListenerState{
		Identity: l.Identity, Port: l.Port, Protocol: l.Protocol,
		Served: state.Texts(status.Served), Problem: status.Problem, Targets: []TargetState{},
		Counters: status.Counters,
	}
	known := byMachine(status.Targets)
	for _, target := range l.Group.Traffic().Targets {
		state := TargetState{Machine: target.Machine, Address: target.Address.String(),
			Health: string(traffic.Unchecked)}
		if target, found := known[target.Machine]; found {
			state.Health, state.Counters = string(target.all), target.Counters
			state.IPv4, state.IPv6 = string(target.v4), string(target.v6)
		}
		out.Targets = append(out.Targets, state)
	}
	return out
}

// machineHealth is the health of a machine as the target of a listener, and what it carried.
type machineHealth struct {
	all    traffic.Health
	v4, v6 traffic.Health
	traffic.Counters
}

// byMachine has one health for each machine, which has one status for each of its addresses. A load balancer in a
// dual-stack subnet has an address of each family, also for a Service of one: the machines answer in that family only.
// So a family without healthy targets does not count, if there is another.
func byMachine(targets []traffic.TargetStatus) map[string]machineHealth {
	var v4, v6 bool // whether a target is healthy in the family
	for _, target := range targets {
		is4, healthy := target.Address.Addr().Is4(), target.Health == traffic.Healthy
		v4, v6 = v4 || is4 && healthy, v6 || !is4 && healthy
	}
	all := map[string]machineHealth{}
	for _, target := range targets {
		one := all[target.Machine]
		family, served := &one.v6, v6 || !v4
		if target.Address.Addr().Is4() {
			family, served = &one.v4, v4 || !v6
		}
		*family = family.Worst(target.Health)
		if served {
			one.all = one.all.Worst(target.Health)
		}
		one.Counters = one.Counters.Plus(target.Counters)
		all[target.Machine] = one
	}
	return all
}

func summariseReservedIP(ip *state.ReservedIP, org *state.Organisation, now time.Time) ReservedIPState {
	out := ReservedIPState{
		Identity: ip.Identity, Name: ip.Name, Organisation: org.Identity,
		Status: ip.Status(now), Addresses: state.Texts(ip.Addresses),
	}
	if ip.Holder != nil {
		_, out.AttachedTo = ip.Holder.Resource()
	}
	return out
}
