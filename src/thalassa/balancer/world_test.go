package balancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// world is a cloud in memory that carries out plans. It refuses what the cloud refuses, so that a plan in a wrong order
// fails. Writes replace objects and never change them in place, so that a copy of a world stays as it is.
type world struct {
	config         Config
	nodes          map[string]string // the machines of the cluster, and the tier of each Node
	balancers      []resource.LoadBalancer
	groups         []resource.TargetGroup
	securityGroups []resource.SecurityGroup
	made           int // load balancers so far
}

func newWorld(defaults map[string]string) world {
	w := world{nodes: map[string]string{"vm-a": "edge", "vm-b": "edge", "vm-c": ""}}
	w.configure(defaults)
	return w
}

// configure sets the defaults of the cloud-config.
func (w *world) configure(defaults map[string]string) {
	config := cloudconfig.Config{Cluster: "k8s-test", VPCIdentity: "vpc-1", DefaultSubnet: "one"}
	config.LoadBalancer.Defaults = defaults
	w.config = NewConfig(config)
}

// clone returns a copy, which later writes to the original do not change.
func (w *world) clone() *world {
	c := *w
	c.balancers, c.groups, c.securityGroups = slices.Clone(w.balancers), slices.Clone(w.groups),
		slices.Clone(w.securityGroups)
	return &c
}

// reversed returns a copy that has nothing in common with the original, with lists in the reverse order.
func (w *world) reversed() *world {
	c := w.clone()
	for _, list := range []any{&c.balancers, &c.groups, &c.securityGroups} {
		text, _ := json.Marshal(list)
		reflect.ValueOf(list).Elem().SetZero()
		_ = json.Unmarshal(text, list)
	}
	slices.Reverse(c.balancers)
	slices.Reverse(c.groups)
	slices.Reverse(c.securityGroups)
	for _, balancer := range c.balancers {
		slices.Reverse(balancer.Listeners)
	}
	return c
}

// observed returns what the provider reads for a Service.
func (w *world) observed(service *corev1.Service, ending bool) Observed {
	var o Observed
	owned := func(of resource.Labels) bool { return of[label.ServiceUID] == string(service.UID) }
	for _, one := range w.balancers {
		if owned(one.Labels) {
			o.Balancers = append(o.Balancers, one)
		}
	}
	for _, one := range w.groups {
		if owned(one.Labels) {
			o.Groups = append(o.Groups, one)
		}
	}
	listed := w.config.MayHaveSecurityGroup(service, o.Balancer()) || o.Unfinished() || ending && o.Balancer() == nil
	for _, one := range w.securityGroups {
		if owned(one.Labels) && listed {
			o.SecurityGroups = append(o.SecurityGroups, one)
		}
	}
	for _, id := range w.config.GroupsWithoutLabels(service, o) {
		w.config.AddGroup(service, &o, w.groups[at(w.groups, groupID, id)], ending)
	}
	return o
}

// compare returns how a Service differs.
func (w *world) compare(service *corev1.Service) cloud.Comparison {
	request := w.config.Request(service, w.observed(service, false))
	in := Input{Candidates: NewCandidates(w.targets(service)), References: w.references(request.Names())}
	if i := at(w.balancers, balancerID, request.Adopts()); i >= 0 {
		in.Adopted = Lookup[resource.LoadBalancer]{Object: w.balancers[i], Found: true}
	}
	return request.Compare(in)
}

// ending returns what is left to do for a Service that is deleted.
func (w *world) ending(service *corev1.Service) cloud.Comparison {
	o, users := w.observed(service, true), map[string]resource.LoadBalancer{}
	for _, other := range w.balancers {
		for _, listener := range other.Listeners {
			if !o.HasBalancer(other.ID) {
				users[listener.TargetGroup] = other
			}
		}
	}
	return w.config.Request(service, o).PlanDelete(Ending{Users: users})
}

// targets returns the machines of the Nodes that the Service chooses.
func (w *world) targets(service *corev1.Service) cloud.Targets {
	selector, err := w.config.NodeSelector(service)
	var targets cloud.Targets
	for machine, tier := range w.nodes {
		if err == nil && (selector == nil || selector.Matches(labels.Set{"tier": tier})) {
			targets.Serving = append(targets.Serving, cloud.Target{Machine: machine, Node: machine, Ready: true})
		}
	}
	slices.SortFunc(targets.Serving, func(a, b cloud.Target) int { return strings.Compare(a.Machine, b.Machine) })
	if len(targets.Serving) == 0 && selector != nil || err != nil {
		targets.NotKnown = cloud.NoNodeMatches
	}
	return targets
}

// references finds what a Service names: subnets, security groups and reserved IPs called one and two.
func (w *world) references(names Names) References {
	subnets := []resource.Subnet{{ID: "subnet-1", Slug: "one"}, {ID: "subnet-2", Slug: "two"}}
	vpc := resource.VPC{ID: "vpc-1", Subnets: subnets}
	found := References{VPC: Lookup[resource.VPC]{Object: vpc, Found: true}, Subnets: subnets, Region: "nl-01",
		SecurityGroups: map[string]Lookup[resource.SecurityGroup]{}, GroupNames: []string{"sg-one (one)"}}
	found.Subnet.Object, found.Subnet.Found = vpc.Subnet(names.Subnet)
	for _, name := range names.SecurityGroups {
		id := "sg-" + strings.TrimPrefix(name, "sg-")
		found.SecurityGroups[name] = Lookup[resource.SecurityGroup]{Object: resource.SecurityGroup{ID: id},
			Found: id == "sg-one" || id == "sg-two"}
	}
	for id, address := range reservedIPs() {
		if names.ReservedIP != id && names.ReservedIP != strings.TrimPrefix(id, "rip-") && names.ReservedIP != address {
			continue
		}
		ip := resource.ReservedIP{ID: id, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
		for _, balancer := range w.balancers {
			if balancer.ReservedIP == id {
				ip.AttachedTo = balancer.ID
			}
		}
		found.ReservedIP = Lookup[resource.ReservedIP]{Object: ip, Found: true}
	}
	return found
}

func reservedIPs() map[string]string {
	return map[string]string{"rip-one": "203.0.113.1", "rip-two": "203.0.113.2"}
}

func balancerID(one resource.LoadBalancer) string { return one.ID }
func groupID(one resource.TargetGroup) string     { return one.ID }
func securityID(one resource.SecurityGroup) string {
	return one.ID
}

// at returns where the object with the identity is, -1 if there is none.
func at[T any](all []T, id func(T) string, wanted string) int {
	return slices.IndexFunc(all, func(one T) bool { return id(one) == wanted })
}

// carryOut makes the writes of a plan, after they were encoded as JSON and decoded. The one with the number refused
// fails, and so do those after it that close nothing.
func (w *world) carryOut(t *testing.T, plan cloud.Plan, refused int) {
	t.Helper()
	known, number := Identities{}, -1
	_, _ = plan.Each(t.Context(), func(_ context.Context, operation cloud.Operation) error {
		if number++; number == refused {
			return errors.New("refused")
		}
		err := w.write(decoded(t, operation), known)
		if err != nil {
			t.Errorf("%s: %v", operation, err)
		}
		return err
	})
	w.recount()
}

// recount sets which listeners use each target group.
func (w *world) recount() {
	for i, group := range w.groups {
		w.groups[i].Listeners = w.users(group.ID)
	}
}

// decoded returns the object of an operation as it is after JSON, which is the same.
func decoded(t *testing.T, operation cloud.Operation) any {
	t.Helper()
	text, err := json.Marshal(operation.Object)
	object := reflect.New(reflect.TypeOf(operation.Object))
	err = errors.Join(err, json.Unmarshal(text, object.Interface()))
	if diff := cmp.Diff(operation.Object, object.Elem().Interface()); diff != "" || err != nil {
		t.Errorf("%s: JSON changes it (%v, -before +after):\n%s", operation, err, diff)
	}
	return object.Elem().Interface()
}

// users returns the listeners of a target group.
func (w *world) users(group string) []string {
	var users []string
	for _, balancer := range w.balancers {
		for _, listener := range balancer.Listeners {
			if listener.TargetGroup == group {
				users = append(users, listener.ID)
			}
		}
	}
	return users
}

// unused returns the target groups that a Service had and that no listener uses.
func (w *world) unused() (ids []string) {
	for _, group := range w.groups {
		if len(group.Listeners) == 0 && group.Labels[label.Managed] != "" {
			ids = append(ids, group.ID)
		}
	}
	return ids
}

// write makes the write of an operation.
func (w *world) write(object any, known Identities) error {
	switch o := object.(type) {
	case CreateLoadBalancer, UpdateLoadBalancer, DeleteLoadBalancer:
		return w.writeBalancer(object, known)
	case CreateListener, UpdateListener, DeleteListener:
		return w.writeListener(object, known)
	case CreateTargetGroup:
		id := o.TargetGroup.ID
		o.TargetGroup.ID = "tg-" + o.TargetGroup.Name
		for at(w.groups, groupID, o.TargetGroup.ID) >= 0 {
			o.TargetGroup.ID += "'"
		}
		known[id], w.groups = o.TargetGroup.ID, append(w.groups, o.TargetGroup)
	case UpdateTargetGroup:
		return replace(w.groups, groupID, o.To.ID, func(now resource.TargetGroup) resource.TargetGroup {
			o.To.Machines = now.Machines
			return o.To
		})
	case SetMachines:
		id, err := known.Of(o.TargetGroup.ID)
		return errors.Join(err, replace(w.groups, groupID, id, func(now resource.TargetGroup) resource.TargetGroup {
			now.Machines = o.Machines
			return now
		}))
	case DeleteTargetGroup:
		if users := w.users(o.TargetGroup); len(users) > 0 {
			return fmt.Errorf("listeners %v use it", users)
		}
		return remove(&w.groups, groupID, o.TargetGroup)
	case CreateSecurityGroup:
		known[o.SecurityGroup.ID] = "sg-own"
		o.SecurityGroup.ID = "sg-own"
		w.securityGroups = append(w.securityGroups, o.SecurityGroup)
	case UpdateSecurityGroup:
		return replace(w.securityGroups, securityID, o.To.ID,
			func(resource.SecurityGroup) resource.SecurityGroup { return o.To })
	case DeleteSecurityGroup:
		for _, balancer := range w.balancers {
			if slices.Contains(balancer.SecurityGroups, o.SecurityGroup) {
				return fmt.Errorf("load balancer %s has it", balancer.ID)
			}
		}
		return remove(&w.securityGroups, securityID, o.SecurityGroup)
	}
	return nil
}

func (w *world) writeBalancer(object any, known Identities) error {
	switch o := object.(type) {
	case CreateLoadBalancer:
		to, err := known.In(o.LoadBalancer.LoadBalancer)
		if w.made++; err != nil {
			return err
		}
		to.ID, to.Status, to.CreatedAt = fmt.Sprintf("lb-%d", w.made), "ready", time.Unix(int64(w.made), 0)
		if to.InternalAddresses = []string{"10.0.0.1"}; !o.LoadBalancer.Internal {
			to.ExternalAddresses, to.Hostname = []string{"198.18.0.1"}, "lb.test"
		}
		for i, listener := range to.Listeners {
			to.Listeners[i].ID = fmt.Sprintf("%d/%s", listener.Port, listener.Protocol)
		}
		w.balancers = append(w.balancers, addressed(to))
	case UpdateLoadBalancer:
		to, err := known.In(o.To)
		return errors.Join(err, replace(w.balancers, balancerID, o.To.ID,
			func(now resource.LoadBalancer) resource.LoadBalancer {
				to.Listeners = now.Listeners
				return addressed(to)
			}))
	case DeleteLoadBalancer:
		if i := at(w.balancers, balancerID, o.LoadBalancer.ID); i >= 0 && w.balancers[i].DeleteProtection {
			return errors.New("it is protected")
		}
		return remove(&w.balancers, balancerID, o.LoadBalancer.ID)
	}
	return nil
}

// addressed returns a load balancer with the address of its reserved IP.
func addressed(balancer resource.LoadBalancer) resource.LoadBalancer {
	if len(balancer.ExternalAddresses) > 0 {
		balancer.ExternalAddresses = []string{"198.18.0.1"}
		if address := reservedIPs()[balancer.ReservedIP]; address != "" {
			balancer.ExternalAddresses = []string{address}
		}
	}
	return balancer
}

func (w *world) writeListener(object any, known Identities) error {
	id, change := "", func([]resource.Listener) ([]resource.Listener, error) { return nil, nil }
	put := func(to resource.Listener, all []resource.Listener) ([]resource.Listener, error) {
		group, err := known.Of(to.TargetGroup)
		if err == nil && at(w.groups, groupID, group) < 0 {
			err = fmt.Errorf("there is no target group %s", group)
		}
		to.ID, to.TargetGroup = fmt.Sprintf("%d/%s", to.Port, to.Protocol), group
		all = slices.DeleteFunc(all, func(one resource.Listener) bool { return one.ID == to.ID })
		return append(all, to), err
	}
	switch o := object.(type) {
	case CreateListener:
		id, change = o.LoadBalancer, func(all []resource.Listener) ([]resource.Listener, error) {
			return put(o.Listener, all)
		}
	case UpdateListener:
		id, change = o.LoadBalancer.ID, func(all []resource.Listener) ([]resource.Listener, error) {
			return put(o.To, all)
		}
	case DeleteListener:
		if o.Label != nil {
			if err := w.write(*o.Label, known); err != nil {
				return err
			}
		}
		id, change = o.LoadBalancer, func(all []resource.Listener) ([]resource.Listener, error) {
			err := remove(&all, func(one resource.Listener) string { return one.ID }, o.Listener)
			return all, err
		}
	}
	var failed error
	return errors.Join(replace(w.balancers, balancerID, id, func(now resource.LoadBalancer) resource.LoadBalancer {
		now.Listeners, failed = change(slices.Clone(now.Listeners))
		return now
	}), failed)
}

// replace changes the object with the identity.
func replace[T any](all []T, id func(T) string, wanted string, change func(T) T) error {
	i := at(all, id, wanted)
	if i < 0 {
		return fmt.Errorf("there is no %q", wanted)
	}
	all[i] = change(all[i])
	return nil
}

// remove deletes the object with the identity.
func remove[T any](all *[]T, id func(T) string, wanted string) error {
	i := at(*all, id, wanted)
	if i < 0 {
		return fmt.Errorf("there is no %q", wanted)
	}
	*all = slices.Delete(slices.Clone(*all), i, i+1)
	return nil
}

// settle carries out plans until nothing differs any more.
func (w *world) settle(t *testing.T, service *corev1.Service, compare func(*corev1.Service) cloud.Comparison) {
	t.Helper()
	for range 5 {
		found := compare(service)
		if len(found.Plan) == 0 {
			return
		}
		w.carryOut(t, found.Plan, -1)
	}
	t.Errorf("there is no end: still\n%s", compare(service).Plan)
}

// values returns what the cloud has, without the records on the objects and in one order.
func (w *world) values() world {
	v := *w.clone()
	v.config, v.nodes, v.made = Config{}, nil, 0
	for i := range v.balancers {
		v.balancers[i].ID, v.balancers[i].Annotations, v.balancers[i].CreatedAt = "", nil, time.Time{}
		listeners := slices.Clone(v.balancers[i].Listeners)
		for j := range listeners {
			listeners[j].Annotations = nil
		}
		slices.SortFunc(listeners, func(a, b resource.Listener) int { return strings.Compare(a.ID, b.ID) })
		v.balancers[i].Listeners = listeners
	}
	for i := range v.groups {
		v.groups[i].Annotations = nil
		v.groups[i].Listeners = sorted(slices.Clone(v.groups[i].Listeners))
	}
	slices.SortFunc(v.groups, func(a, b resource.TargetGroup) int { return strings.Compare(a.ID, b.ID) })
	for i := range v.securityGroups {
		v.securityGroups[i].Annotations = nil
	}
	return v
}

// exposed returns the ports that everybody can reach.
func (w *world) exposed() (ports []int) {
	for _, balancer := range w.balancers {
		for _, listener := range balancer.Listeners {
			if len(listener.AllowedSources)+len(balancer.SecurityGroups) == 0 {
				ports = append(ports, listener.Port)
			}
		}
	}
	return ports
}
