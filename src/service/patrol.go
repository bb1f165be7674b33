package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
)

// patrol looks from time to time, until ctx ends, whether what Services have in the cloud is still what they should have, and whether
// the cloud has something of Services that are gone.
func (c *Controller) patrol(ctx context.Context) {
	if c.behaviour.DriftPeriod <= 0 {
		return
	}
	for tick := time.NewTicker(c.behaviour.DriftPeriod); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		c.round(ctx)
	}
}

// round is one look. All Services are compared with one set of lists.
func (c *Controller) round(ctx context.Context) {
	err := c.provider.Refresh(ctx)
	if err == nil {
		if c.behaviour.Drift != loadbalancer.Off {
			for _, key := range c.memories.keys() {
				c.queue.add(key, relaxed, 0)
			}
		}
		err = c.inspect(ctx)
	}
	logger := klog.FromContext(ctx)
	switch was := c.lookFailed; {
	case ctx.Err() != nil:
	case err == nil:
		c.metrics.patrolled.SetToCurrentTime()
		c.lookFailed = false
	case was:
		logger.V(1).Info("The cloud cannot be looked at for drift and orphans", "reason", err.Error())
	default:
		c.lookFailed = true
		logger.Error(err, "The cloud cannot be looked at for drift and orphans; the next look follows by itself")
	}
}

// orphanage is what the cloud has of Services that are not in the cluster, or are those of others.
type orphanage struct {
	mu    sync.Mutex
	found map[types.UID]*orphan
}

// orphan is what the cloud has of one Service that is gone.
type orphan struct {
	parts  []loadbalancer.Owned
	looks  int // in a row that found it
	told   bool
	served bool   // its Service is there, and has a load balancer of another class
	memory memory // of its removal
}

// minLooks is how many looks in a row must find an orphan before it counts as one: its Service may be on its way out, or, with a cache
// that is behind, on its way in.
const minLooks = 2

// inspect looks for what belongs to Services that are not in the cluster any more, or have load balancers of others.
func (c *Controller) inspect(ctx context.Context) error {
	owned, err := c.provider.Owned(ctx)
	if err != nil {
		return err
	}
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return err
	}
	known := make(map[types.UID]*corev1.Service, len(services))
	for _, service := range services {
		known[service.UID] = service
	}
	lost, living := map[types.UID][]loadbalancer.Owned{}, map[types.UID]bool{}
	for _, part := range owned {
		switch service, exists := known[part.UID]; {
		case !exists || ofOthers(c.behaviour, service):
			lost[part.UID] = append(lost[part.UID], part)
		default:
			living[part.UID] = true
			c.reclaim(service)
		}
	}
	certain := c.orphanage.admit(lost, c.tended())
	for uid, one := range certain {
		_, one.served = known[uid]
		c.handle(ctx, uid, one, len(certain) > len(living))
	}
	return nil
}

// reclaim has removed what is left of a Service that wants no load balancer any more, whoever took its finalizer.
func (c *Controller) reclaim(service *corev1.Service) {
	if claimOf(c.behaviour, service) != foreign {
		return
	}
	m := c.memories.of(keyOf(service))
	m.Lock()
	m.abandoned = true
	m.Unlock()
	c.queue.add(keyOf(service), relaxed, 0)
}

// tended are the UIDs of the Services that are being worked on, also of those that are gone.
func (c *Controller) tended() map[types.UID]bool {
	tended := map[types.UID]bool{}
	for _, m := range c.memories.all() {
		if facts := m.facts.Load(); facts != nil {
			tended[facts.uid] = true
		}
	}
	return tended
}

// admit counts looks, and returns those that have been found often enough.
func (o *orphanage) admit(lost map[types.UID][]loadbalancer.Owned, tended map[types.UID]bool) map[types.UID]*orphan {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.found
	o.found = map[types.UID]*orphan{}
	certain := map[types.UID]*orphan{}
	for uid, parts := range lost {
		if tended[uid] {
			continue
		}
		one := before[uid]
		if one == nil {
			one = &orphan{}
		}
		one.parts = parts
		if one.looks++; one.looks >= minLooks {
			certain[uid] = one
		}
		o.found[uid] = one
	}
	return certain
}

// parts are what all orphans that are certain consist of.
func (o *orphanage) parts() []loadbalancer.Owned {
	o.mu.Lock()
	defer o.mu.Unlock()
	var parts []loadbalancer.Owned
	for _, one := range o.found {
		if one.looks >= minLooks {
			parts = append(parts, one.parts...)
		}
	}
	return parts
}

// handle reports an orphan, once, and removes it if that is wanted. Most says that more than half of what the cluster has in the cloud
// are orphans: then it is rather the cluster that is another one, or was restored, and nothing is removed.
func (c *Controller) handle(ctx context.Context, uid types.UID, one *orphan, most bool) {
	former := formerOf(uid, one)
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(former), "uid", uid)
	remove := c.behaviour.RemoveOrphans && !most && !one.served && former.Name != "" && former.Namespace != ""
	if !one.told {
		one.told = true
		advice := "Delete it in the cloud, or let the configuration remove orphans."
		switch {
		case one.served:
			advice = "Whoever serves that Service now may use it; if nobody does, delete it in the cloud."
		case remove:
			advice = "It is being removed, as configured."
		case c.behaviour.RemoveOrphans:
			advice = "It is not removed although that is configured, because most of what this cluster has in the cloud belongs to no Service of it, or its labels are incomplete. Is it the right cluster? Delete it in the cloud."
		}
		c.recorder.Eventf(former, corev1.EventTypeWarning, reasonOrphaned,
			"The cloud has %s of a Service that is not in this cluster any more, or has a load balancer of another class (UID %s). %s", namesOf(one.parts), uid, advice)
		logger.Info("The cloud has something of a Service that is gone", "what", namesOf(one.parts), "advice", advice)
	}
	if !remove {
		return
	}
	if err := c.removeOrphan(ctx, one, former); err != nil {
		logger.V(1).Info("An orphan is not removed yet; the next look for drift goes on", "reason", err.Error())
	}
}

// removeOrphan removes what a Service left behind, after the API server has said that it is gone: the cache may be behind.
func (c *Controller) removeOrphan(ctx context.Context, one *orphan, former *corev1.Service) error {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, former.Name).String()}
	current, err := c.client.CoreV1().Services(former.Namespace).List(ctx, options)
	if err != nil {
		return fmt.Errorf("asking whether Service %s is gone: %w", klog.KObj(former), err)
	}
	// One that has a load balancer of another class is there, too: whoever serves it may use what we find.
	if slices.ContainsFunc(current.Items, func(one corev1.Service) bool { return one.UID == former.UID }) {
		return nil
	}
	return c.remove(ctx, &one.memory, former)
}

// formerOf stands for a Service that is not there any more.
func formerOf(uid types.UID, one *orphan) *corev1.Service {
	name := one.parts[0].Service
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: uid},
	}
}

// namesOf names what an orphan consists of.
func namesOf(parts []loadbalancer.Owned) string {
	text := ""
	for i, part := range parts {
		if i == maxSummary {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += part.Kind + " " + part.Name + " (" + part.Identity + ")"
	}
	return text
}
