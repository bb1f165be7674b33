package balancer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// input is everything that the desired state and the plans of a Service depend on.
type input struct {
	Service    *corev1.Service
	Observed   Observed
	Targets    cloud.Targets
	Settled    bool
	Memory     Memory
	References References
	Ending     Ending
	Adopted    resource.LoadBalancer
}

// output is everything that is computed from an input.
type output struct {
	Desired          desired
	Notices          []cloud.Notice
	Names            Names
	Compared, Ending cloud.Comparison
	Adoption         cloud.Plan
	Refused          error
}

// compute computes everything from an input.
func compute(c Config, in input) output {
	var out output
	request := c.Request(in.Service, in.Observed)
	out.Names = request.Names()
	all := Input{Candidates: NewCandidates(in.Targets), References: in.References, Settled: in.Settled,
		Memory: in.Memory, Adopted: Lookup[resource.LoadBalancer]{Object: in.Adopted, Found: true}}
	out.Desired, out.Notices = request.desire(all)
	out.Compared = request.Compare(all)
	out.Ending = request.PlanDelete(in.Ending)
	out.Adoption, out.Refused = request.Adopt(in.Adopted, true)
	return out
}

// die draws the parts of an input. Two dice of one seed draw the same input twice, without a pointer in common.
type die struct{ *rand.Rand }

// one draws one of several values.
func one[T any](d die, values ...T) T { return values[d.IntN(len(values))] }

// often is true for most draws.
func (d die) often() bool { return d.IntN(4) > 0 }

// seldom is true for few draws.
func (d die) seldom() bool { return d.IntN(5) == 0 }

// some draws several of the values, in their order.
func some[T any](d die, values ...T) []T {
	return slices.DeleteFunc(slices.Clone(values), func(T) bool { return !d.often() })
}

// service draws a Service with annotations of this cloud, valid and invalid, of the whole Service and of ports.
func (d die) service() *corev1.Service {
	s := service("web", some[int32](d, 80, 443, 8080, 9000)...)
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].Protocol = one(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP,
			corev1.ProtocolSCTP)
		s.Spec.Ports[i].NodePort = one(d, s.Spec.Ports[i].NodePort, s.Spec.Ports[i].NodePort, 31000, 0)
	}
	for _, entry := range Registry().Entries() {
		if !d.seldom() {
			continue
		}
		name := entry.Name
		switch {
		case entry.IsFamily():
			name += one(d, "80", "443", "p8080", "7")
		case entry.PerPort && d.seldom():
			name += one(d, ".p80", ".443", ".unknown")
		}
		s.Annotations[label.AnnotationPrefix+name] = one(d, entry.Example, entry.Example, "true", "keep", "", "?")
	}
	s.Spec.LoadBalancerSourceRanges = some(d, "192.0.2.0/24", "198.51.100.0/24")
	s.Spec.LoadBalancerIP = one(d, "", "", "192.0.2.9", "web")
	s.Spec.SessionAffinity = one(d, corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP)
	s.Spec.IPFamilies = some(d, corev1.IPv4Protocol, corev1.IPv6Protocol)
	if d.seldom() {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32000
	}
	if d.often() {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
	}
	return s
}

// metadata draws labels and annotations of an object in the cloud.
func (d die) metadata(s *corev1.Service) (labels, annotations resource.Labels) {
	labels = ownerLabels(cloud.OwnerOf(one(d, "k8s-test", "k8s-test", "k8s-test", "other"), s), nil)
	for _, key := range []string{label.Cluster, label.Managed, label.ServiceUID, label.ServiceName} {
		if d.IntN(12) == 0 {
			delete(labels, key)
		}
	}
	labels["team"] = one(d, "shop", "cart")
	record := lastApplied{created: d.often()}
	for _, setting := range []string{settingSubnet, settingReservedIP, settingProtection, settingRetain,
		settingInternal,
		settingOwnGroup, settingAdopted, settingSources, "loadbalancing-policy", "health-check", "max-connections"} {
		if d.seldom() {
			record = record.with(setting, some(d, "rip-1", askedByService)...)
		}
	}
	if d.seldom() {
		record = record.with(settingGroups, some(d, "sg-1", "sg-2", "sg-3")...).with(settingLabels, "team", "stage")
	}
	annotations = record.mergedInto(resource.Labels{"theirs": "1"})
	if d.seldom() {
		annotations[annotationAdoptable] = "k8s-test/shop/web"
	}
	return labels, annotations
}

// loadBalancer draws a load balancer with listeners.
func (d die) loadBalancer(s *corev1.Service, id string) resource.LoadBalancer {
	lb := resource.LoadBalancer{
		ID: id, Name: one(d, cloudprovider.DefaultLoadBalancerName(s), "theirs"), Description: "d",
		Status: one(d, "ready", "ready", "ready", "creating", "deleting"), Subnet: one(d, "subnet-1", "subnet-2"),
		CreatedAt: time.Unix(int64(d.IntN(3)), 0), ExternalAddresses: some(d, "198.18.0.1"),
		InternalAddresses: some(d, "10.0.0.1", "10.0.0.2"), Hostname: one(d, "", "lb.example.com"),
		DeleteProtection: d.seldom(), ReservedIP: one(d, "", "rip-1", "rip-2"), InstanceSize: one(d, "", "lb-small"),
		SecurityGroups: some(d, "sg-1", "sg-2", "sg-own"),
	}
	lb.Labels, lb.Annotations = d.metadata(s)
	for i, port := range []int{80, 443, 8080, 1234, 1235} {
		if !d.often() {
			continue
		}
		listener := resource.Listener{
			ID: fmt.Sprintf("%s-%d", id, i), Name: one(d, lb.Name+"-p", "theirs"), Protocol: one(d, "tcp", "udp"),
			Port: port, TargetGroup: fmt.Sprintf("tg-%d", d.IntN(5)), MaxConnections: one[uint32](d, 0, 10000, 7),
			IdleTimeout: one[uint32](d, 6000, 600), AllowedSources: some(d, "192.0.2.0/24", "10.0.0.0/8"),
		}
		listener.Labels, listener.Annotations = d.metadata(s)
		lb.Listeners = append(lb.Listeners, listener)
	}
	return lb
}

// targetGroup draws a target group of a port.
func (d die) targetGroup(s *corev1.Service, id string) resource.TargetGroup {
	group := resource.TargetGroup{
		ID: id, Name: "web-" + id, Protocol: "tcp", Port: one(d, 30080, 31000), Policy: one(d, "", "RANDOM", "MAGLEV"),
		ProxyProtocol: d.seldom(), Machines: some(d, "vm-1", "vm-2", "vm-3"), Listeners: some(d, "lb-1-0", "lb-9-0"),
	}
	group.Labels, group.Annotations = d.metadata(s)
	if d.often() {
		key := cloud.Key{Protocol: corev1.ProtocolTCP, Port: one[int32](d, 80, 443, 8080)}
		group.Labels = portLabels(group.Labels, key)
	}
	if d.often() {
		group.HealthCheck = &resource.HealthCheck{Protocol: one(d, "tcp", "http"), Port: one[int32](d, 30080, 9),
			Path: "/healthz", PeriodSeconds: one(d, 5, 10), TimeoutSeconds: one(d, 3, 5), HealthyThreshold: 2,
			UnhealthyThreshold: 3}
	}
	return group
}

// securityGroup draws a security group with rules.
func (d die) securityGroup(s *corev1.Service, id string) resource.SecurityGroup {
	group := resource.SecurityGroup{ID: id, Name: one(d, groupName(string(s.UID)), "sg-web", "theirs"), Version: 3,
		Status: one(d, "active", "active", "deleting"), Ingress: d.rules(s), Egress: egress()}
	group.Labels, group.Annotations = d.metadata(s)
	return group
}

func (d die) rules(s *corev1.Service) []resource.Rule {
	var rules []resource.Rule
	for _, port := range some[int32](d, 80, 30080, 30443) {
		rule := allow(opening{protocol: "tcp", first: port, last: port}, netip.MustParsePrefix("10.0.0.0/24"), port)
		rules = append(rules, rule)
	}
	return rules
}

// observed draws the objects of a Service.
func (d die) observed(s *corev1.Service) Observed {
	var o Observed
	for i := range one(d, 0, 1, 1, 1, 3) {
		o.Balancers = append(o.Balancers, d.loadBalancer(s, fmt.Sprintf("lb-%d", i+1)))
	}
	for i := range d.IntN(5) {
		o.Groups = append(o.Groups, d.targetGroup(s, fmt.Sprintf("tg-%d", i)))
	}
	for i := range one(d, 0, 0, 1, 3) {
		o.SecurityGroups = append(o.SecurityGroups, d.securityGroup(s, fmt.Sprintf("sg-%d", i+1)))
	}
	if d.seldom() {
		o.Recognised = Config{Cluster: "k8s-test"}.TraitsOf(s).Recognise([]resource.LoadBalancer{
			d.loadBalancer(s, "lb-8"), d.loadBalancer(s, "lb-9")})
	}
	if d.seldom() {
		o.GroupsError = errors.New("no answer")
	}
	return o
}

// lookup draws the result of looking up an object.
func lookup[T any](d die, object T) Lookup[T] {
	switch d.IntN(5) {
	case 0:
		return Lookup[T]{}
	case 1:
		return Lookup[T]{Err: errors.New("no answer")}
	}
	return Lookup[T]{Object: object, Found: true}
}

// references draws what was found of what a Service names.
func (d die) references(s *corev1.Service, names Names) References {
	subnets := []resource.Subnet{{ID: "subnet-1", Slug: "one"},
		{ID: "subnet-2", Slug: "two", Labels: resource.Labels{label.SubnetRole: "true"}}}
	found := References{
		VPC: lookup(d, resource.VPC{ID: "vpc-1", Subnets: subnets}), Subnet: lookup(d, one(d, subnets...)),
		Subnets: subnets, SecurityGroups: map[string]Lookup[resource.SecurityGroup]{}, GroupNames: []string{"sg-1"},
		ReservedIP: lookup(d, resource.ReservedIP{ID: "rip-1", AttachedTo: one(d, "", "lb-1", "lb-9"),
			Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.9")}}),
		Region: "nl-01",
	}
	for i, name := range names.SecurityGroups {
		found.SecurityGroups[name] = lookup(d, d.securityGroup(s, fmt.Sprintf("sg-%d", i)))
	}
	return found
}

// input draws everything. The order of lists that have no order depends on the second die.
func (d die) input(c Config, order die) input {
	in := input{Service: d.service()}
	in.Observed = d.observed(in.Service)
	in.References = d.references(in.Service, c.Request(in.Service, in.Observed).Names())
	in.Targets.Unidentified, in.Settled = some(d, "node-9"), d.often()
	in.Memory = Memory{Expecting: one(d, 0, 0, 0, time.Minute), Irremovable: map[string]bool{"tg-0": d.seldom(),
		"tg-1": d.seldom()}}
	for _, machine := range []string{"vm-1", "vm-2", "vm-3", "vm-4"} {
		target := cloud.Target{Machine: machine, Node: machine, Zone: one(d, "", "a", "b"), Ready: d.often()}
		list := one(d, &in.Targets.Serving, &in.Targets.Serving, &in.Targets.Joining, &in.Targets.Missing)
		*list = append(*list, target)
	}
	in.Ending = Ending{Written: d.often(), Expecting: time.Duration(d.IntN(2)) * time.Second}
	if len(in.Observed.Balancers) == 0 {
		in.Ending.Users = map[string]resource.LoadBalancer{"tg-1": d.loadBalancer(in.Service, "lb-7")}
	}
	in.Adopted = d.loadBalancer(in.Service, "lb-0123456789")
	shuffle(order, in.Service.Spec.LoadBalancerSourceRanges)
	shuffle(order, in.Observed.Balancers)
	shuffle(order, in.Observed.Groups)
	shuffle(order, in.Observed.SecurityGroups)
	for _, lb := range in.Observed.Balancers {
		shuffle(order, lb.Listeners)
	}
	return in
}

func shuffle[T any](d die, list []T) {
	d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// sameValues compares values with all their fields, and errors by their text.
func sameValues() cmp.Options {
	return cmp.Options{
		cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() }),
		cmpopts.IgnoreTypes(annotations{}),
		cmp.Exporter(func(reflect.Type) bool { return true }),
	}
}

// TestPure: desired state and plans are functions of their inputs. The same inputs give the same values, whatever the
// time, the order of maps and the order of lists that have none; and inputs do not change.
func TestPure(t *testing.T) {
	c := NewConfig(cloudconfig.Config{Cluster: "k8s-test", VPCIdentity: "vpc-1",
		AdditionalLabels: map[string]string{"a": "1", "b": "2"}})
	draw := func(seed, order uint64) input {
		return die{rand.New(rand.NewPCG(seed, 1))}.input(c, die{rand.New(rand.NewPCG(seed, order))})
	}
	kinds := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(300) {
			in := draw(seed, 2)
			first := compute(c, in)
			for order := range tier.Pick[uint64](1, 4) {
				<-time.After(31 * time.Hour)
				again := draw(seed, 2+order)
				if diff := cmp.Diff(first, compute(c, again), sameValues()); diff != "" {
					t.Fatalf("seed %d, order %d: the same inputs give other values (-first +again):\n%s", seed, order,
						diff)
				}
				if diff := cmp.Diff(draw(seed, 2+order), again, sameValues()); diff != "" {
					t.Fatalf("seed %d, order %d: the inputs have changed (-before +after):\n%s", seed, order, diff)
				}
			}
			for _, operation := range slices.Concat(first.Compared.Plan, first.Ending.Plan, first.Adoption) {
				kinds[fmt.Sprintf("%T", operation.Object)] = true
			}
		}
	})
	if len(kinds) != 13 {
		t.Errorf("plans had %d types of operations, want all 13: %v", len(kinds), kinds)
	}
}
