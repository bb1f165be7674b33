package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
)

// orphanage is what the cloud has of Services that are not in the cluster, or are those of others.
type orphanage struct {
	mu    sync.Mutex
	found map[types.UID]*orphan
}

// orphan is what the cloud has of one Service that is gone.
type orphan struct {
	parts  []cloud.ManagedObject
	looks  int // in a row that found it
	told   bool
	served bool   // its Service is there, and has a load balancer of another class
	remove bool   // it is to be removed, as of the latest look
	memory memory // of its removal
}

// orphanPrefix begins the keys of orphans in the queue; the UID follows. No Service has such a key.
const orphanPrefix = "orphan "

// minLooks is how many looks in a row must find an orphan before it counts as one: its Service may be on its way out,
// or, with a cache that is behind, on its way in.
const minLooks = 2

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
func (o *orphanage) admit(lost map[types.UID][]cloud.ManagedObject, tended map[types.UID]bool) map[types.UID]*orphan {
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
func (o *orphanage) parts() []cloud.ManagedObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	var parts []cloud.ManagedObject
	for _, one := range o.found {
		if one.looks >= minLooks {
			parts = append(parts, one.parts...)
		}
	}
	return parts
}

// handle reports an orphan, once, and removes it if that is wanted. Most says that more than half of what the cluster
// has in the cloud are orphans: then it is rather the cluster that is another one, or was restored, and nothing is
// removed.
func (c *Controller) handle(ctx context.Context, uid types.UID, one *orphan, most bool) {
	former := formerOf(uid, one)
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(former), "uid", uid)
	kept := slices.ContainsFunc(one.parts, func(part cloud.ManagedObject) bool { return part.Retained })
	unlabelled := slices.ContainsFunc(one.parts, func(part cloud.ManagedObject) bool { return part.Unlabelled })
	remove := c.behaviour.RemoveOrphans && !most && !one.served && !kept && !unlabelled &&
		former.Name != "" && former.Namespace != ""
	if !one.told {
		one.told = true
		advice := "Delete it in the cloud, or set loadBalancer.removeOrphans to true."
		switch {
		case one.served:
			advice = "Another controller that is now responsible for that Service may use it. If none does, delete " +
				"it in the cloud."
		case kept:
			advice = "It is kept, because its Service had the annotation on-delete: keep. Adopt it with another " +
				"Service, or delete it in the cloud."
		case unlabelled:
			advice = "It lost its labels, so nothing of this Service is deleted. Delete all of it in the cloud."
		case remove:
			advice = "It is being deleted, as configured."
		case c.behaviour.RemoveOrphans:
			advice = "It is not deleted, although removeOrphans is set, because most objects that this cluster has " +
				"in the cloud belong to no Service, or because its labels are incomplete. Check that the program " +
				"runs in the right cluster, and delete the object in the cloud."
		}
		c.recorder.Eventf(c.concerned(former), corev1.EventTypeWarning, reasonOrphaned,
			"The cloud has %s of a Service that is not in this cluster any more, or has a load balancer of another "+
				"class (%s, UID %s). %s",
			namesOf(one.parts), klog.KObj(former), uid, advice)
		logger.Info("The cloud has something of a Service that is gone", "what", namesOf(one.parts), "advice", advice)
	}
	if c.orphanage.decide(one, remove); remove {
		c.queue.Enqueue(orphanPrefix+string(uid), priorityqueue.Relaxed, 0)
	}
}

// decide says whether an orphan is to be removed.
func (o *orphanage) decide(one *orphan, remove bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one.remove = remove
}

// removable is an orphan that is to be removed, with the Service it was of; nil when it is not, or not there any more.
func (o *orphanage) removable(uid types.UID) (*orphan, *corev1.Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one := o.found[uid]; one != nil && one.remove {
		return one, formerOf(uid, one)
	}
	return nil, nil
}

// removeOrphan removes what a Service left behind, after the API server has said that it is gone: the cache may be
// behind.
func (c *Controller) removeOrphan(ctx context.Context, uid types.UID) error {
	one, former := c.orphanage.removable(uid)
	if one == nil {
		return nil
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField,
		former.Name).String()}
	current, err := c.client.CoreV1().Services(former.Namespace).List(ctx, options)
	if err != nil {
		return fmt.Errorf("asking whether Service %s is gone: %w", klog.KObj(former), err)
	}
	// One that has a load balancer of another class is there, too: whoever serves it may use what we find.
	if slices.ContainsFunc(current.Items, func(one corev1.Service) bool { return one.UID == former.UID }) {
		return nil
	}
	one.memory.Lock()
	defer one.memory.Unlock()
	if err := c.remove(ctx, &one.memory, former); err != nil {
		return err
	}
	one.memory.reset()
	return nil
}

// concerned is what an event about a Service that is gone is about: the Service, or, where no other one is left in its
// namespace, the namespace. That may be gone, too, and nothing can be said in one that is: events about namespaces are
// in the namespace default.
func (c *Controller) concerned(former *corev1.Service) runtime.Object {
	if left, err := c.services.Services(former.Namespace).List(labels.Everything()); former.Namespace == "" ||
		err != nil || len(left) > 0 {
		return former
	}
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: former.Namespace}}
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
func namesOf(parts []cloud.ManagedObject) string {
	var names []string
	for _, part := range parts[:min(len(parts), maxSummary)] {
		names = append(names, part.Kind+" "+part.Name+" ("+part.Identity+")")
	}
	if len(parts) > maxSummary {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
