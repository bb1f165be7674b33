package thalassa

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
)

// Reasons of the events about drift.
const (
	reasonDrifted  = "LoadBalancerDrifted"
	reasonRepaired = "LoadBalancerRepaired"
)

// settledServices are the Services whose load balancers are as they should be, with what they were made from. The zero value is
// ready to use.
type settledServices struct {
	mu    sync.Mutex
	known map[types.UID]settledService
}

type settledService struct {
	service *corev1.Service
	nodes   []*corev1.Node
	// repairing: a load balancer was made anew and its address is not in the Service's status yet.
	repairing bool
}

func (s *settledServices) remember(service *corev1.Service, nodes []*corev1.Node) {
	s.put(service.UID, settledService{service: service, nodes: nodes})
}

func (s *settledServices) put(uid types.UID, settled settledService) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[types.UID]settledService{}
	}
	s.known[uid] = settled
}

func (s *settledServices) nodesChanged(uid types.UID, nodes []*corev1.Node) {
	if settled, known := s.get(uid); known {
		settled.nodes = nodes
		s.put(uid, settled)
	}
}

func (s *settledServices) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, uid)
}

func (s *settledServices) get(uid types.UID) (settledService, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled, known := s.known[uid]
	return settled, known
}

func (s *settledServices) list() []*corev1.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	services := make([]*corev1.Service, 0, len(s.known))
	for _, settled := range s.known {
		services = append(services, settled.service)
	}
	return services
}

// drift looks from time to time whether somebody changed or removed by hand what Services have in the cloud, says so and puts it
// right. Services that the service controller is still busy with are left to it.
type drift struct {
	balancers *balancers
	period    time.Duration // 0: never
	services  typedcorev1.CoreV1Interface
}

// run looks until ctx ends. While something that was removed is being made anew it looks more often, to publish the new address.
func (d drift) run(ctx context.Context) {
	if d.period <= 0 {
		return
	}
	for next := d.period; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		next = d.period
		if repairing := d.pass(ctx); repairing {
			next = min(d.period, d.balancers.config.LoadBalancer.pollInterval())
		}
	}
}

// pass compares all settled Services with one set of lists. It reports whether any of them is still being repaired.
func (d drift) pass(ctx context.Context) (repairing bool) {
	began := time.Now()
	for _, service := range d.balancers.settled.list() {
		err := d.repair(ctx, service, began)
		var again *api.RetryError
		switch {
		case ctx.Err() != nil:
			return false
		case errors.As(err, &again):
			repairing = true
		case err != nil:
			klog.FromContext(ctx).Info("Looking for drift failed; it is done again in the next period",
				"service", klog.KObj(service), "period", d.period, "err", err.Error())
		}
	}
	return repairing
}

// repair puts right what differs for one Service, and publishes its addresses when a load balancer had to be made anew.
func (d drift) repair(ctx context.Context, service *corev1.Service, began time.Time) error {
	b := d.balancers
	defer b.services.lock(service)()
	settled, known := b.settled.get(service.UID)
	if !known {
		return nil // deleted, or under way again, meanwhile
	}
	plan, err := b.difference(ctx, settled.service, settled.nodes, time.Since(began))
	if err != nil || (len(plan) == 0 && !settled.repairing) {
		return err
	}
	if len(plan) > 0 {
		b.recorder.Eventf(settled.service, corev1.EventTypeWarning, reasonDrifted,
			"Something other than Kubernetes changed what this Service has in the cloud; putting it right: %s. Change the Service instead.", summary(plan))
		settled.repairing = true
		b.settled.put(service.UID, settled)
	}
	status, err := b.ensure(ctx, settled.service, settled.nodes)
	if err != nil {
		return err
	}
	if err := d.publish(ctx, settled.service, status); err != nil {
		return err
	}
	settled.repairing = false
	b.settled.put(service.UID, settled)
	return nil
}

// difference is the plan for a Service as the cloud is now.
func (b *balancers) difference(ctx context.Context, service *corev1.Service, nodes []*corev1.Node, maxAge time.Duration) (loadbalancer.Plan, error) {
	d, _, err := b.desire(service, nodes)
	if err != nil {
		return nil, err
	}
	if d.Targets, err = b.existing(ctx, d.Targets); err != nil {
		return nil, err
	}
	o, err := b.observe(ctx, service, maxAge)
	if err != nil {
		return nil, err
	}
	plan, _, err := b.plan(ctx, service, d, o)
	return plan, err
}

// publish makes the addresses the Service's status, if they are not yet: the service controller does so only after its own syncs.
func (d drift) publish(ctx context.Context, service *corev1.Service, status *corev1.LoadBalancerStatus) error {
	current, err := d.services.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Service %s to publish its new addresses: %w", klog.KObj(service), err)
	}
	if current.UID != service.UID || current.DeletionTimestamp != nil || helpers.LoadBalancerStatusEqual(&current.Status.LoadBalancer, status) {
		return nil
	}
	updated := current.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := helpers.PatchService(d.services, current, updated); err != nil {
		return fmt.Errorf("publishing the new addresses of Service %s: %w", klog.KObj(service), err)
	}
	d.balancers.recorder.Eventf(service, corev1.EventTypeWarning, reasonRepaired,
		"The load balancer was made anew and has other addresses: %s become %s. Point DNS at them, if it is not done automatically.",
		addressesOf(current.Status.LoadBalancer), addressesOf(*status))
	return nil
}

func addressesOf(status corev1.LoadBalancerStatus) string {
	addresses := make([]string, 0, len(status.Ingress))
	for _, ingress := range status.Ingress {
		addresses = append(addresses, ingress.IP)
	}
	return strings.Join(addresses, ", ")
}

// maxSummary bounds how many operations of a plan are named in an event.
const maxSummary = 3

// summary is a plan in one line.
func summary(plan loadbalancer.Plan) string {
	lines := strings.Split(plan.String(), "\n")
	if more := len(lines) - maxSummary; more > 0 {
		lines = append(lines[:maxSummary], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}
