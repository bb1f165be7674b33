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

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// fakeCloud is a cloud whose load balancers have ports and machines, but no listeners, target groups or health checks.
type fakeCloud struct {
	mu           sync.Mutex
	balancers    map[types.UID]*fakeBalancer
	next         int
	readyAfter   time.Duration // time until a new load balancer is ready; negative: it is never ready
	callErr      error         // the error of each write and refresh
	writeErr     error         // the error of each write
	refusedErr   error         // the reason why diffs contain no operations
	diffErr      error         // the error of each diff
	deleteErr    error         // the error of each plan of a deletion
	twoSteps     bool          // a load balancer is created without machines, which are added afterwards
	dropsUpdates bool          // updates have no effect
	comparisons  int           // the number of diffs
	refreshes    int
	writes       []string
	retained     []string // the addresses of retained load balancers
	health       string   // the health of the targets of ready load balancers
	onWrite      func()   // called during each write; may be nil
	// confirmed is the time from which it is certain that a Service without a load balancer has none.
	confirmed time.Time
}

type fakeBalancer struct {
	owner    types.NamespacedName
	ports    string
	machines []string
	address  string
	readyAt  time.Time // the time at which it is ready
	state    string    // "" is "creating" and then "ready"
	retained bool      // it is retained when its Service is deleted
	proven   bool      // it has the UID of this cluster
}

func newFakeCloud() *fakeCloud { return &fakeCloud{balancers: map[types.UID]*fakeBalancer{}} }

func (p *fakeCloud) Identify(node *corev1.Node) (string, bool) {
	identity, ours := strings.CutPrefix(node.Spec.ProviderID, "plain://")
	if !ours {
		return "", node.Spec.ProviderID == ""
	}
	return identity, true
}

// NodeSelector returns the selector in the annotation plain/nodes.
func (p *fakeCloud) NodeSelector(service *corev1.Service) (labels.Selector, error) {
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

// Diff refuses one setting if the annotation plain/refused has a reason, and everything if refusedErr is set.
func (p *fakeCloud) Diff(_ context.Context, service *corev1.Service, targets cloud.Targets,
	_ bool) (cloud.Comparison, error) {
	found, err := p.compare(service, targets)
	p.mu.Lock()
	defer p.mu.Unlock()
	if found.Refused = p.refusedErr; p.refusedErr != nil {
		found.Plan = nil
	}
	if refused := service.Annotations["plain/refused"]; refused != "" {
		found.Refused = errors.New(refused)
	}
	return found, err
}

func (p *fakeCloud) compare(service *corev1.Service, targets cloud.Targets) (cloud.Comparison, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.comparisons++
	if p.diffErr != nil {
		return cloud.Comparison{}, p.diffErr
	}
	desired, problems := cloud.Desire(cloud.OwnerOf("plain", service), service).WithNodePorts()
	if len(problems) > 0 {
		return cloud.Comparison{}, errors.New(strings.Join(problems, "; "))
	}
	found := cloud.Comparison{Targets: cloud.Choice{Machines: cloud.MachinesOf(targets.Serving)}}
	for wrong := range strings.FieldsSeq(service.Annotations["plain/wrong"]) {
		found.Notices = append(found.Notices, cloud.Notice{Topic: cloud.Settings, Reason: "Wrong", Message: wrong})
	}
	balancer := p.balancers[service.UID]
	if balancer == nil {
		create := fakeWrite{Ports: portsOf(desired), Machines: targets.Over(nil)}
		found.Plan = cloud.Plan{writeOf(cloud.Create, service, "", create)}
		if p.twoSteps {
			found.Plan = append(found.Plan, writeOf(cloud.Update, service, "its machines", fakeWrite{}))
		}
		return found, nil
	}
	found.Exists, found.Balancer.State = true, balancer.status(p.readyAfter)
	if old, want := balancer.ports, portsOf(desired); old != want {
		found.Plan = append(found.Plan, writeOf(cloud.Update, service, old+" becomes "+want, fakeWrite{Ports: want}))
	}
	if want := targets.Over(balancer.machines); !slices.Equal(balancer.machines, want) {
		why := fmt.Sprintf("%v becomes %v", balancer.machines, want)
		found.Plan = append(found.Plan, writeOf(cloud.Update, service, why,
			fakeWrite{Machines: want, Retargets: true}))
	}
	if found.Balancer.State == "ready" {
		found.Balancer.Health = p.health
		found.Balancer.Status = corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: balancer.address}}}
		return found, nil
	}
	found.Wait = &cloud.Wait{Object: balancer.address, Name: "load balancer " + service.Name,
		Status: found.Balancer.State, Failed: found.Balancer.State == "failed",
		Message: fmt.Sprintf("load balancer %s is %s", service.Name, found.Balancer.State)}
	return found, nil
}

func (b *fakeBalancer) status(readyAfter time.Duration) string {
	if readyAfter < 0 || time.Now().Before(b.readyAt) {
		return cmp.Or(b.state, "creating")
	}
	return cmp.Or(b.state, "ready")
}

// fakeWrite contains the fields that an operation changes: those that are not empty.
type fakeWrite struct {
	Ports, RetainedFor string
	Machines           []string
	Retargets          bool
}

func writeOf(verb cloud.Verb, service *corev1.Service, why string, write fakeWrite) cloud.Operation {
	return cloud.Operation{Verb: verb, Kind: "load balancer", Name: service.Name, Why: why, Object: write}
}

// Apply makes the writes and records them.
func (p *fakeCloud) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	return plan.Each(ctx, func(_ context.Context, o cloud.Operation) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.onWrite != nil {
			p.onWrite()
		}
		if err := errors.Join(p.callErr, p.writeErr); err != nil {
			return err
		}
		p.writes = append(p.writes, o.String())
		p.change(o.Verb, service, o.Object.(fakeWrite))
		return nil
	})
}

func (p *fakeCloud) change(verb cloud.Verb, service *corev1.Service, write fakeWrite) {
	balancer := p.balancers[service.UID]
	switch {
	case verb == cloud.Create:
		p.next++
		p.balancers[service.UID] = &fakeBalancer{
			owner: types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, ports: write.Ports,
			machines: write.Machines, address: fmt.Sprintf("192.0.2.%d", p.next), readyAt: time.Now().Add(p.readyAfter),
		}
	case write.RetainedFor != "":
		delete(p.balancers, service.UID)
		p.retained = append(p.retained, balancer.address)
	case write.Ports != "":
		balancer.ports = write.Ports
	case p.dropsUpdates && verb == cloud.Update:
	case verb == cloud.Delete:
		delete(p.balancers, service.UID)
	case write.Retargets:
		balancer.machines = write.Machines
	}
}

func (p *fakeCloud) PlanDelete(_ context.Context, service *corev1.Service, _ bool) (cloud.Comparison, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.comparisons++
	balancer := p.balancers[service.UID]
	switch {
	case p.deleteErr != nil:
		return cloud.Comparison{}, p.deleteErr
	case balancer == nil && time.Now().Before(p.confirmed):
		return cloud.Comparison{Exists: true, Wait: &cloud.Wait{Within: time.Second, Message: "it is confirmed"}}, nil
	case balancer == nil:
		return cloud.Comparison{}, nil
	}
	found := cloud.Comparison{Exists: true, Balancer: cloud.Actual{State: balancer.status(0),
		Status: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: balancer.address}}}}}
	if to := service.Annotations["plain/keep"]; to != "" { // the load balancer is retained
		found.Retains = "It is left to " + to + "."
		found.Plan = cloud.Plan{writeOf(cloud.Update, service, "it is left to "+to, fakeWrite{RetainedFor: to})}
		return found, nil
	}
	found.Plan = append(found.Plan, writeOf(cloud.Delete, service, "", fakeWrite{}))
	return found, nil
}

func (p *fakeCloud) Refresh(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshes++
	return p.callErr
}

// errUnavailable means that the cloud does not answer now.
var errUnavailable = errors.New("the cloud is away")

func (p *fakeCloud) ClassifyError(err error) (bool, time.Duration) {
	reason := cloud.ReasonOf(err)
	return reason.Waits() || errors.Is(err, errUnavailable), reason.Until
}

func (p *fakeCloud) ListManaged(context.Context) ([]cloud.ManagedObject, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var owned []cloud.ManagedObject
	for _, uid := range slices.Sorted(maps.Keys(p.balancers)) {
		owned = append(owned, cloud.ManagedObject{Service: p.balancers[uid].owner, UID: uid, Kind: "load balancer",
			Name: p.balancers[uid].owner.Name, Identity: p.balancers[uid].address, Retained: p.balancers[uid].retained,
			Proven: p.balancers[uid].proven})
	}
	return owned, nil
}

// set changes the cloud as another client would.
func (p *fakeCloud) set(change func(*fakeCloud)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// takeWrites returns the writes since the last call.
func (p *fakeCloud) takeWrites() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.writes
	p.writes = nil
	return writes
}

// contents describes the load balancers in the cloud, by the name of the Service.
func (p *fakeCloud) contents() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]string{}
	for _, balancer := range p.balancers {
		all[balancer.owner.Name] = fmt.Sprintf("%s on %s", balancer.ports, strings.Join(balancer.machines, " "))
	}
	return all
}
