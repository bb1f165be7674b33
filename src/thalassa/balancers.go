package thalassa

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Reasons of the provider's events.
const (
	reasonAnnotation = "InvalidAnnotation"
	reasonSlow       = "LoadBalancerSlow"
	reasonFailed     = "LoadBalancerFailed"
	// reasonRestriction: the Service asks for less than everybody, which this version cannot do.
	reasonRestriction = "RestrictionNotApplied"
	// reasonLeftOut: nodes of the Service get none of its traffic.
	reasonLeftOut = "NodesLeftOut"
)

// What a load balancer shows once it serves, and while it does so and is being changed.
const (
	statusReady    = "ready"
	statusUpdating = "updating"
)

// maxRounds bounds how often one sync compares and writes. Two are needed when listeners are created after their load
// balancer; the last one only checks.
const maxRounds = 3

// balancers keeps the load balancers of Services as they should be. Nothing in it waits for the cloud to finish something:
// it returns an error that says when to look again.
type balancers struct {
	config      Config
	inventory   *inventory.Inventory
	annotations annotations
	planner     planner
	recorder    record.EventRecorder
	services    serviceLocks
	settled     settledServices
	waits       sync.Map // UID of a Service -> wait, for what its load balancer is looked at again and again
	told        sync.Map // UID of a Service -> telling, the latest event about its load balancer since that last was as it should be
	problems    sync.Map // UID of a Service -> what was last said about its annotations
	leftOut     sync.Map // UID of a Service -> leftOut, what was last said about nodes that get none of its traffic
	doubted     sync.Map // UID of a Service of which lists were read while a creation was doubtful
}

var _ cloudprovider.LoadBalancer = (*balancers)(nil)

func newBalancers(c Config, known *inventory.Inventory) *balancers {
	return &balancers{
		config: c, inventory: known, annotations: newAnnotations(),
		planner: planner{inventory: known, separately: &atomic.Bool{}, removals: &removals{}},
		// Events before Initialize, and in tests that do not look at them, go nowhere.
		recorder: &record.FakeRecorder{},
	}
}

// GetLoadBalancerName is the name that the existing CCM uses.
func (b *balancers) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

// GetLoadBalancer says whether anything of the Service is in the cloud: its caller removes the finalizer when nothing is,
// so a target group that is left over counts too.
func (b *balancers) GetLoadBalancer(ctx context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	defer b.services.lock(service)()
	if !wantsBalancer(service) {
		// Whoever asks removes the finalizer when nothing is there, and then nothing may be made any more.
		b.settled.forget(service.UID)
	}
	maxAge, doubtful := b.doubt(service, b.fresh())
	o, err := b.observe(ctx, service, maxAge)
	if err != nil {
		return nil, false, err
	}
	if o.empty() && !doubtful {
		if !wantsBalancer(service) {
			b.forget(service) // nobody will ask for a deletion
		}
		return nil, false, nil
	}
	if len(o.balancers) == 0 {
		return &corev1.LoadBalancerStatus{}, true, nil
	}
	return statusOf(service, o.balancers[0]), true, nil
}

// EnsureLoadBalancer makes what the Service has in the cloud what it should be and returns its addresses. While the cloud is
// still busy it returns an *api.RetryError with the time of the next look.
func (b *balancers) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	defer b.services.lock(service)()
	b.settled.forget(service.UID)
	status, err := b.ensure(ctx, service, nodes)
	if err != nil {
		return nil, whenToReturn(err)
	}
	b.settled.remember(service, nodes, status)
	return status, nil
}

// ensure is EnsureLoadBalancer for whoever holds the Service's lock.
func (b *balancers) ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	balancer, err := b.sync(ctx, service, nodes)
	if err != nil {
		return nil, err
	}
	if !serves(service, balancer) {
		// What is known may be older than the interval of looking again, and then it is time to look.
		if balancer, err = b.latest(ctx, service, balancer); err != nil {
			return nil, err
		}
		if !serves(service, balancer) {
			return nil, b.pending(service, balancer)
		}
	}
	b.waits.Delete(service.UID)
	b.told.Delete(service.UID)
	return statusOf(service, balancer), nil
}

// UpdateLoadBalancer gives the Service's target groups the machines of the nodes, and changes nothing else: the service
// controller calls it with Services it read before a sweep over all of them began, so ports and annotations may be outdated.
// A Service that has nothing in the cloud is left to EnsureLoadBalancer, before which it gets the finalizer that prevents a leak.
func (b *balancers) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service, nodes []*corev1.Node) error {
	defer b.services.lock(service)()
	if service.DeletionTimestamp != nil {
		return nil
	}
	err := b.retarget(ctx, service, nodes)
	b.settled.changed(service.UID, nodes, err == nil)
	return err
}

// retarget writes the machines of the nodes where they differ.
func (b *balancers) retarget(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error {
	o, err := b.observe(ctx, service, b.config.Inventory.balancerAge())
	if err != nil || len(o.balancers) == 0 {
		return err
	}
	targets, err := b.existing(ctx, loadbalancer.ChooseTargets(nodes, identify))
	if err != nil {
		return err
	}
	return b.apply(ctx, service, b.planner.membership(targets, o))
}

// EnsureLoadBalancerDeleted removes everything of the Service from the cloud, in as many calls as the cloud needs: it returns
// an error until nothing is left, and nil only then. The service controller of k8s.io/cloud-provider v0.37 does not see the time
// in an *api.RetryError here and comes back after 5, 10, 20, … 300 seconds.
func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	defer b.services.lock(service)()
	b.settled.forget(service.UID)
	o, err := b.observe(ctx, service, b.fresh())
	if err != nil {
		return err
	}
	plan := b.planner.deletion(o)
	if err := b.apply(ctx, service, plan); err != nil {
		return err
	}
	// That everything is gone is believed only from lists that began after the last deletion, which may take its time although it
	// was accepted, and after any doubt.
	maxAge, doubtful := b.doubt(service, afterWrites(plan, b.fresh()))
	if o, err = b.observe(ctx, service, maxAge); err != nil {
		return err
	}
	if !o.empty() {
		return api.NewRetryError("the cloud is still deleting "+o.String(), b.config.LoadBalancer.pollInterval())
	}
	if doubtful {
		return api.NewRetryError("something may still be there: a creation ended without an answer, and the cloud's lists may not show it yet", b.config.LoadBalancer.pollInterval())
	}
	b.forget(service)
	return nil
}

// forget is for a Service of which nothing is left in the cloud, and nothing will be made.
func (b *balancers) forget(service *corev1.Service) {
	for _, known := range []*sync.Map{&b.waits, &b.told, &b.problems, &b.leftOut, &b.doubted} {
		known.Delete(service.UID)
	}
}

// sync compares and writes until nothing differs, and returns the load balancer then.
func (b *balancers) sync(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (inventory.LoadBalancer, error) {
	d, problems, err := b.desire(ctx, service, nodes)
	if err != nil {
		return inventory.LoadBalancer{}, err
	}
	b.tellProblems(service, problems)
	for round := 1; ; round++ {
		o, plan, refused, err := b.compare(ctx, service, d)
		switch {
		case err != nil:
			return inventory.LoadBalancer{}, err
		case len(plan) == 0 && refused != nil:
			return inventory.LoadBalancer{}, refused
		case len(plan) == 0:
			return o.balancers[0], nil
		case round == maxRounds:
			return inventory.LoadBalancer{}, fmt.Errorf("the cloud does not keep what is written: it still needs %q", plan[0])
		}
		if err := b.apply(ctx, service, plan); err != nil {
			b.noteDoubt(service)
			return inventory.LoadBalancer{}, err
		}
	}
}

// noteDoubt says whether something of the Service's may exist that lists do not show yet, and remembers that it was so.
func (b *balancers) noteDoubt(service *corev1.Service) bool {
	doubtful := b.inventory.Doubtful(string(service.UID))
	if doubtful {
		b.doubted.Store(service.UID, true)
	}
	return doubtful
}

// doubt says whether something of the Service's may exist that lists do not show yet, and how old lists may be from now on: at most
// maxAge, and none from before the end of a doubt, which say nothing after it.
func (b *balancers) doubt(service *corev1.Service, maxAge time.Duration) (age time.Duration, doubtful bool) {
	if b.noteDoubt(service) {
		return maxAge, true
	}
	if _, was := b.doubted.Load(service.UID); was {
		return inventory.Anew, false
	}
	return maxAge, false
}

// compare observes the Service in the cloud and returns, as plan does, what differs.
func (b *balancers) compare(ctx context.Context, service *corev1.Service, d desired) (o observed, plan loadbalancer.Plan, refused, err error) {
	maxAge, doubtful := b.doubt(service, b.config.Inventory.balancerAge())
	if o, err = b.observe(ctx, service, maxAge); err != nil {
		return observed{}, nil, nil, err
	}
	if !doubtful {
		b.doubted.Delete(service.UID)
	}
	if len(o.balancers) > 0 && o.balancers[0].Deleting() {
		// What is known may be older than the interval of looking again, and then nobody would see that it is gone.
		if o.balancers, err = b.balancersOf(ctx, service, b.fresh()); err != nil {
			return observed{}, nil, nil, err
		}
	}
	plan, refused, err = b.plan(ctx, service, d, o)
	return o, plan, refused, err
}

// plan returns the writes that are necessary and may be made, and what had to be refused besides them.
func (b *balancers) plan(ctx context.Context, service *corev1.Service, d desired, o observed) (plan loadbalancer.Plan, refused, err error) {
	d.Ports, refused = openable(service, d.Ports, o)
	if len(o.balancers) == 0 {
		if refused != nil {
			return nil, refused, nil
		}
		if b.inventory.Doubtful(string(service.UID)) {
			return nil, nil, api.NewRetryError("a creation for this Service ended without an answer; whether it happened shows within a minute", b.config.LoadBalancer.pollInterval())
		}
		if d.subnet, err = b.subnet(ctx); err != nil {
			return nil, nil, err
		}
	} else if o.balancers[0].Deleting() {
		message := fmt.Sprintf("load balancer %s is being deleted, not by this cluster; a new one follows once it is gone", o.balancers[0].Name)
		return nil, nil, api.NewRetryError(message, b.pollPause(time.Since(b.waitedSince(service, o.balancers[0]))))
	}
	b.tellKept(service, d, o)
	return b.planner.plan(d, o), refused, nil
}

// desire is what the Service should have, and what is wrong with its annotations. Its owner is told which nodes are left out.
func (b *balancers) desire(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (desired, []string, error) {
	common, err := loadbalancer.Desire(loadbalancer.OwnerOf(b.config.Cluster, service), service, nodes, identify)
	if err != nil {
		return desired{}, nil, err
	}
	for _, port := range common.Ports {
		if p := port.Protocol; p != corev1.ProtocolTCP && p != corev1.ProtocolUDP {
			return desired{}, nil, fmt.Errorf("port %s of Service %s: Thalassa Cloud load balancers have no %s; use TCP or UDP", port.Key, common.Owner, p)
		}
	}
	chosen := common.Targets
	if common.Targets, err = b.existing(ctx, chosen); err != nil {
		return desired{}, nil, err
	}
	b.tellLeftOut(service, leftOutOf(nodes, chosen, common.Targets))
	settings, problems := b.annotations.read(service.Annotations)
	lines := make([]string, 0, len(problems))
	for _, problem := range problems {
		lines = append(lines, problem.String())
	}
	return desired{
		Desired: common, settings: settings,
		name:        cloudprovider.DefaultLoadBalancerName(service),
		labels:      ownerLabels(common.Owner, b.config.AdditionalLabels),
		healthCheck: healthCheckOf(service, common.HealthCheckNodePort),
	}, lines, nil
}

// observe returns everything of the Service in the cloud, from lists at most maxAge old.
func (b *balancers) observe(ctx context.Context, service *corev1.Service, maxAge time.Duration) (observed, error) {
	balancers, err := b.balancersOf(ctx, service, maxAge)
	if err != nil {
		return observed{}, err
	}
	expected := 0
	if served(service) {
		expected = len(service.Spec.Ports)
	}
	groups, err := b.inventory.TargetGroupsOf(ctx, string(service.UID), maxAge, expected)
	if err != nil {
		return observed{}, err
	}
	slices.SortFunc(groups, func(x, y inventory.TargetGroup) int { return cmp.Compare(x.ID, y.ID) })
	return observed{balancers: balancers, groups: groups}, nil
}

// balancersOf returns the Service's load balancers, the oldest first, from a list at most maxAge old.
func (b *balancers) balancersOf(ctx context.Context, service *corev1.Service, maxAge time.Duration) ([]inventory.LoadBalancer, error) {
	expected := 0
	if served(service) {
		expected = 1
	}
	balancers, err := b.inventory.LoadBalancersOf(ctx, string(service.UID), maxAge, expected)
	slices.SortFunc(balancers, func(x, y inventory.LoadBalancer) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return balancers, err
}

// served says that the Service has had a load balancer with an address, whatever the first list of a process shows.
func served(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

// fresh is the age of answers to "is it ready, or gone, yet?".
func (b *balancers) fresh() time.Duration { return b.config.LoadBalancer.pollInterval() / 2 }

// apply makes the writes of a plan; the audit log says for which Service and why each was made.
func (b *balancers) apply(ctx context.Context, service *corev1.Service, plan loadbalancer.Plan) error {
	for i, operation := range plan {
		do, cause := operation.Do, fmt.Sprintf("Service %s: %s", klog.KObj(service), operation)
		plan[i].Do = func(ctx context.Context) error { return do(client.WithCause(ctx, cause)) }
	}
	return plan.Apply(ctx)
}

// afterWrites is how old lists may be that are looked at after a plan: none of those before it, if it wrote anything.
func afterWrites(plan loadbalancer.Plan, otherwise time.Duration) time.Duration {
	if len(plan) > 0 {
		return inventory.Anew
	}
	return otherwise
}

// whenToReturn hands on when the cloud asked to come back.
func whenToReturn(err error) error {
	if after := client.RetryAfter(err); after > 0 {
		return api.NewRetryError(err.Error(), after)
	}
	return err
}
