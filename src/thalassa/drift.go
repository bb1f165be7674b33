package thalassa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// Reasons of the events about drift.
const (
	reasonDrifted  = "LoadBalancerDrifted"
	reasonRepaired = "LoadBalancerRepaired"
	// reasonNotRepaired: the cloud refuses what would put it right.
	reasonNotRepaired = "LoadBalancerNotRepaired"
)

// maxRepairPause is the longest pause before a repair that is not finished is looked at again.
const maxRepairPause = time.Minute

// drift looks from time to time whether what Services have in the cloud is still what they should have, says so when it is not
// and puts it right. Services that the service controller is still busy with are left to it.
type drift struct {
	balancers *balancers
	period    time.Duration // 0: never
	services  typedcorev1.CoreV1Interface
}

// run looks until ctx ends. Between the periods it looks after those that it is repairing, ever more rarely.
func (d drift) run(ctx context.Context) {
	if d.period <= 0 {
		return
	}
	pause, due := d.period, time.Now().Add(d.period)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(pause, max(time.Until(due), 0))):
		}
		all := !time.Now().Before(due)
		if all {
			due = time.Now().Add(d.period)
		}
		switch repairing := d.pass(ctx, d.balancers.settled.list(!all)); {
		case !repairing:
			pause = d.period
		case all && pause == d.period:
			pause = d.balancers.config.LoadBalancer.pollInterval()
		default:
			pause = min(2*pause, maxRepairPause)
		}
	}
}

// pass compares Services with one set of lists. It reports whether any of them is not right yet.
func (d drift) pass(ctx context.Context, services []settledService) (repairing bool) {
	if len(services) == 0 {
		return false
	}
	if err := d.balancers.inventory.Refresh(ctx); err != nil {
		klog.FromContext(ctx).V(1).Info("The cloud cannot be looked at for drift now; the next look follows by itself", "reason", err.Error())
		return len(d.balancers.settled.list(true)) > 0
	}
	for _, settled := range services {
		if ctx.Err() != nil {
			return false
		}
		if err := d.repair(ctx, settled.service); err != nil {
			klog.FromContext(ctx).V(1).Info("Looking for drift is not finished; it goes on by itself",
				"service", klog.KObj(settled.service), "reason", err.Error())
		}
	}
	return len(d.balancers.settled.list(true)) > 0
}

// repair puts right what differs for one Service, and publishes its addresses when they are others now. A load balancer that serves
// no more, or was never looked at since it does, is waited for.
func (d drift) repair(ctx context.Context, service *corev1.Service) error {
	b := d.balancers
	defer b.services.lock(service)()
	settled, known := b.settled.get(service.UID)
	if !known || settled.changing {
		return nil // deleted, or under way again, meanwhile
	}
	plan, addresses, refused := b.difference(ctx, settled.service, settled.nodes)
	if len(plan) == 0 && refused == nil && !settled.repairing && slices.Equal(addresses, settled.addresses) {
		return nil
	}
	if len(plan) == 0 && refused != nil {
		return d.refused(settled, refused)
	}
	current, err := d.current(ctx, settled.service)
	if err != nil || current == nil {
		return err
	}
	// What is made is what the Service asks for now, not what it asked for when it was last looked at.
	first := !settled.repairing
	settled.service, settled.repairing = current, true
	b.settled.put(service.UID, settled)
	if first && len(plan) > 0 {
		b.tellOnce(settled.service, "", reasonDrifted,
			"What this Service has in the cloud is not what it should have, without a change in Kubernetes. It is being put right: %s. To change it, change the Service.", summary(plan))
	}
	status, err := b.ensure(ctx, settled.service, settled.nodes)
	if err != nil {
		b.tellFailedRepair(settled.service, err)
		return err
	}
	if err := d.publish(current, status); err != nil {
		return err
	}
	settled.repairing, settled.addresses = false, addressesOf(*status)
	b.settled.put(service.UID, settled)
	return nil
}

// refused keeps a Service under repair whose difference cannot be put right now. What lasts is told once; what cannot be known now
// is nothing to tell.
func (d drift) refused(settled settledService, refused error) error {
	if passing(refused) {
		return refused
	}
	settled.repairing = true
	d.balancers.settled.put(settled.service.UID, settled)
	d.balancers.tellOnce(settled.service, "", reasonDrifted,
		"What this Service has in the cloud is not what it should have, without a change in Kubernetes, and cannot be put right now: %v", refused)
	return refused
}

// tellFailedRepair tells once why a repair does not succeed, unless that passes by itself.
func (b *balancers) tellFailedRepair(service *corev1.Service, err error) {
	var again *api.RetryError
	if errors.As(err, &again) || passing(err) {
		return
	}
	b.tellOnce(service, "", reasonNotRepaired,
		"What this Service has in the cloud is not what it should have, without a change in Kubernetes, and putting it right fails: %v. It is tried again.", err)
}

// passing says that an error is about the cloud's state at the moment, and not about the Service.
func passing(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrThrottled) || errors.Is(err, client.ErrMalformed) ||
		errors.Is(err, client.ErrShutdown) || errors.Is(err, context.Canceled)
}

// current is the Service as the cluster has it, nil when it is to have no load balancer any more: then it is forgotten, because
// nobody would remove what is made now.
func (d drift) current(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	current, err := d.services.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		d.balancers.forget(service)
	case err != nil:
		return nil, fmt.Errorf("reading Service %s before its load balancer is changed: %w", klog.KObj(service), err)
	case current.UID == service.UID && wantsBalancer(current) && helpers.HasLBFinalizer(current):
		return current, nil
	}
	d.balancers.settled.forget(service.UID)
	return nil, nil
}

// wantsBalancer says whether the Service is to have a load balancer.
func wantsBalancer(service *corev1.Service) bool {
	return service.DeletionTimestamp == nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer
}

// difference is the plan for a Service as the cloud is now, and why it is empty when not because nothing differs; then the
// addresses are those under which its load balancer serves.
func (b *balancers) difference(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (loadbalancer.Plan, []string, error) {
	d, _, err := b.desire(ctx, service, nodes)
	if err != nil {
		return nil, nil, err
	}
	o, plan, refused, err := b.compare(ctx, service, d)
	switch {
	case err != nil || len(plan) > 0:
		return plan, nil, err
	case refused != nil:
		return nil, nil, refused
	}
	return nil, addressesOf(*statusOf(service, o.balancers[0])), nil
}

// publish makes the addresses the Service's status, if they are not yet: the service controller does so only after its own syncs.
func (d drift) publish(current *corev1.Service, status *corev1.LoadBalancerStatus) error {
	if helpers.LoadBalancerStatusEqual(&current.Status.LoadBalancer, status) {
		return nil
	}
	updated := current.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := helpers.PatchService(d.services, current, updated); err != nil {
		return fmt.Errorf("publishing the new addresses of Service %s: %w", klog.KObj(current), err)
	}
	before, after := addressesOf(current.Status.LoadBalancer), addressesOf(*status)
	if len(before) > 0 && !slices.Equal(before, after) {
		d.balancers.recorder.Eventf(current, corev1.EventTypeWarning, reasonRepaired,
			"The load balancer has other addresses now: %s became %s. Point DNS at them, if that is not done automatically.",
			strings.Join(before, ", "), strings.Join(after, ", "))
	}
	return nil
}

// addressesOf are the addresses of a status, each with its hostname, if it has one.
func addressesOf(status corev1.LoadBalancerStatus) []string {
	addresses := make([]string, 0, len(status.Ingress))
	for _, ingress := range status.Ingress {
		addresses = append(addresses, strings.TrimSpace(ingress.IP+" "+ingress.Hostname))
	}
	return addresses
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
