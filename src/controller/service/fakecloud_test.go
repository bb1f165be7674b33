package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// plain is a cloud whose load balancers have ports and machines, and nothing else: no listeners, no target groups, no
// health checks.
type plain struct {
	mu        sync.Mutex
	balancers map[types.UID]*plainBalancer
	next      int
	takes     time.Duration // until one that is new serves; less than 0: for ever
	failing   error         // what every write and refresh ends with; nil: none does
	refusing  error         // what every write ends with
	refused   error         // why comparisons leave everything out
	blind     error         // what every comparison ends with
	twoSteps  bool          // one is created without machines, and gets them afterwards
	oneByOne  bool          // each machine that is added is a write of its own
	forgetful bool          // writes to a load balancer that exists change nothing
	looks     int           // comparisons
	refreshes int
	writes    []string
	left      []string // the addresses of those that were left to others
	health    string   // what it says about the targets of those that are ready
	during    func()   // called within each write; nil: nothing
}

type plainBalancer struct {
	owner    types.NamespacedName
	ports    string
	machines []string
	address  string
	served   time.Time // from when on
	state    string    // "" is "creating" and then "ready"
	parts    int       // that have to be deleted before itself
	kept     bool      // when its Service is deleted
}

func newPlain() *plain { return &plain{balancers: map[types.UID]*plainBalancer{}} }

func (p *plain) Identify(node *corev1.Node) (string, bool) {
	return strings.CutPrefix(node.Spec.ProviderID, "plain://")
}

// NodeSelector is what the annotation plain/nodes says.
func (p *plain) NodeSelector(service *corev1.Service) (labels.Selector, error) {
	if service.Annotations["plain/nodes"] == "" {
		return nil, nil
	}
	return labels.Parse(service.Annotations["plain/nodes"])
}

func portsOf(desired cloud.Desired) string {
	var ports []string
	for _, port := range desired.Ports {
		ports = append(ports, fmt.Sprintf("%s to %d", port.Key, port.TargetPort))
	}
	return strings.Join(ports, ", ")
}

// Diff refuses, for good, what the annotation plain/refused says, and nothing else because of that.
func (p *plain) Diff(_ context.Context, service *corev1.Service, targets cloud.Targets) (cloud.Comparison, error) {
	found, err := p.compare(service, targets)
	p.mu.Lock()
	defer p.mu.Unlock()
	if found.Refused = p.refused; p.refused != nil {
		found.Plan = nil
	}
	if refused := service.Annotations["plain/refused"]; refused != "" {
		found.Refused = errors.New(refused)
	}
	return found, err
}

func (p *plain) compare(service *corev1.Service, targets cloud.Targets) (cloud.Comparison, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	if p.blind != nil {
		return cloud.Comparison{}, p.blind
	}
	desired, problems := cloud.Desire(cloud.OwnerOf("plain", service), service, targets)
	if len(problems) > 0 {
		return cloud.Comparison{}, errors.New(strings.Join(problems, "; "))
	}
	found := cloud.Comparison{Machines: targets.Identities}
	for wrong := range strings.FieldsSeq(service.Annotations["plain/wrong"]) {
		found.Notices = append(found.Notices, cloud.Notice{Topic: cloud.Settings, Reason: "Wrong", Message: wrong})
	}
	balancer := p.balancers[service.UID]
	if balancer == nil {
		create := plainWrite{Ports: portsOf(desired), Machines: targets.Over(nil)}
		found.Plan = cloud.Plan{writeOf(cloud.Create, service, "", create)}
		if p.twoSteps {
			found.Plan = append(found.Plan, writeOf(cloud.Update, service, "its machines", plainWrite{}))
		}
		return found, nil
	}
	found.Exists, found.State = true, balancer.status(p.takes)
	if was, want := balancer.ports, portsOf(desired); was != want {
		found.Plan = append(found.Plan, writeOf(cloud.Update, service, was+" becomes "+want, plainWrite{Ports: want}))
	}
	if want := targets.Over(balancer.machines); p.oneByOne {
		for _, machine := range want {
			if !slices.Contains(balancer.machines, machine) {
				add := plainWrite{Added: machine}
				found.Plan = append(found.Plan, writeOf(cloud.Update, service, machine+" is added", add))
			}
		}
	} else if !slices.Equal(balancer.machines, want) {
		why := fmt.Sprintf("%v becomes %v", balancer.machines, want)
		found.Plan = append(found.Plan, writeOf(cloud.Update, service, why,
			plainWrite{Machines: want, Retargets: true}))
	}
	if found.State == "ready" {
		found.Health = p.health
		found.Status = corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: balancer.address}}}
		return found, nil
	}
	found.Wait = &cloud.Wait{Object: balancer.address, Name: "load balancer " + service.Name, Status: found.State,
		Failed:  found.State == "failed",
		Message: fmt.Sprintf("load balancer %s is %s", service.Name, found.State)}
	return found, nil
}

func (b *plainBalancer) status(takes time.Duration) string {
	if takes < 0 || time.Now().Before(b.served) {
		return cmp.Or(b.state, "creating")
	}
	return cmp.Or(b.state, "ready")
}

// plainWrite is what an operation changes: what is not empty.
type plainWrite struct {
	Ports, Added, LeftTo string
	Machines             []string
	Retargets, Part      bool
}

func writeOf(verb cloud.Verb, service *corev1.Service, why string, write plainWrite) cloud.Operation {
	return cloud.Operation{Verb: verb, Kind: "load balancer", Name: service.Name, Why: why, Object: write}
}

// Apply makes the writes, and writes them down.
func (p *plain) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return plan.Each(ctx, func(_ context.Context, o cloud.Operation) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.during != nil {
			p.during()
		}
		if err := errors.Join(p.failing, p.refusing); err != nil {
			return err
		}
		p.writes = append(p.writes, o.String())
		p.change(o.Verb, service, o.Object.(plainWrite))
		return nil
	})
}

func (p *plain) change(verb cloud.Verb, service *corev1.Service, write plainWrite) {
	balancer := p.balancers[service.UID]
	switch {
	case verb == cloud.Create:
		p.next++
		p.balancers[service.UID] = &plainBalancer{
			owner: types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, ports: write.Ports,
			machines: write.Machines, address: fmt.Sprintf("192.0.2.%d", p.next), served: time.Now().Add(p.takes),
		}
	case write.LeftTo != "":
		delete(p.balancers, service.UID)
		p.left = append(p.left, balancer.address)
	case write.Ports != "":
		balancer.ports = write.Ports
	case p.forgetful && (write.Part || verb == cloud.Update):
	case write.Part:
		balancer.parts--
	case verb == cloud.Delete:
		delete(p.balancers, service.UID)
	case write.Added != "":
		balancer.machines = append(balancer.machines, write.Added)
	case write.Retargets:
		balancer.machines = write.Machines
	}
}

func (p *plain) PlanDelete(_ context.Context, service *corev1.Service, _ bool) (cloud.Comparison, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	balancer := p.balancers[service.UID]
	if balancer == nil {
		return cloud.Comparison{}, nil
	}
	found := cloud.Comparison{Exists: true, State: balancer.status(0)}
	if to := service.Annotations["plain/keep"]; to != "" { // the owner is another one now
		found.Retains = "It is left to " + to + "."
		found.Plan = cloud.Plan{writeOf(cloud.Update, service, "it is left to "+to, plainWrite{LeftTo: to})}
		return found, nil
	}
	for range balancer.parts {
		found.Plan = append(found.Plan, writeOf(cloud.Delete, service, "a part", plainWrite{Part: true}))
	}
	found.Plan = append(found.Plan, writeOf(cloud.Delete, service, "", plainWrite{}))
	return found, nil
}

func (p *plain) Refresh(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshes++
	return p.failing
}

// errAway is that the cloud cannot be reached right now.
var errAway = errors.New("the cloud is away")

func (p *plain) ClassifyError(err error) (bool, time.Duration) {
	if again, asked := errors.AsType[*api.RetryError](err); asked {
		return true, again.RetryAfter()
	}
	return errors.Is(err, errAway), 0
}

func (p *plain) ListManaged(context.Context) ([]cloud.ManagedObject, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var owned []cloud.ManagedObject
	for _, uid := range slices.Sorted(maps.Keys(p.balancers)) {
		owned = append(owned, cloud.ManagedObject{Service: p.balancers[uid].owner, UID: uid, Kind: "load balancer",
			Name: p.balancers[uid].owner.Name, Identity: p.balancers[uid].address, Retained: p.balancers[uid].kept})
	}
	return owned, nil
}

// set changes the cloud as somebody else would.
func (p *plain) set(change func(*plain)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// done returns what was written since the last time.
func (p *plain) done() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	p.writes = nil
	return writes
}

// has is what the cloud has, by Service, in words.
func (p *plain) has() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]string{}
	for _, balancer := range p.balancers {
		all[balancer.owner.Name] = fmt.Sprintf("%s on %s", balancer.ports, strings.Join(balancer.machines, " "))
	}
	return all
}
