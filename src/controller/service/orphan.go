package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

// orphanSet contains the orphans in the cloud: objects of Services that do not exist or have another class.
type orphanSet struct {
	mu    sync.Mutex
	found map[types.UID]*orphan
}

// orphan are the orphaned objects of one Service.
type orphan struct {
	objects    []cloud.ManagedObject
	service    *corev1.Service // as far as the labels describe it
	checks     int             // that found it, in a row
	checked    time.Time       // the latest of these checks
	reported   bool
	otherClass bool         // its Service exists, and has another class
	remove     bool         // it should be deleted, according to the latest check
	held       bool         // it is not, only because most objects in the cloud are orphans
	state      serviceState // of its deletion
}

// isNamed reports whether the labels of an orphan contain the name of its Service.
func (o *orphan) isNamed() bool { return o.service.Namespace != "" && o.service.Name != "" }

// orphanPrefix is the prefix of the keys of orphans in the queue, before the UID. No key of a Service has it.
const orphanPrefix = "orphan "

// minChecks is the number of checks in a row that must find an orphan. Before that, its Service may be in deletion, or
// the cache may not contain its Service yet.
const minChecks = 2

// activeUIDs returns the UIDs of the Services that have a state in this process, including deleted ones.
func (c *Controller) activeUIDs() map[types.UID]bool {
	active := map[types.UID]bool{}
	for _, seen := range c.states.seen() {
		active[seen.uid] = true
	}
	return active
}

// update counts the checks that found each orphan, and returns the orphans that enough checks have found.
func (o *orphanSet) update(found map[types.UID][]cloud.ManagedObject, active map[types.UID]bool) map[types.UID]*orphan {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.found
	o.found = map[types.UID]*orphan{}
	confirmed := map[types.UID]*orphan{}
	for uid, objects := range found {
		if active[uid] {
			continue
		}
		one := before[uid]
		if one == nil {
			one = &orphan{}
		}
		one.objects, one.service = objects, deletedService(uid, objects)
		if time.Since(one.checked) >= orphanRecheckDelay {
			one.checks, one.checked = one.checks+1, time.Now()
		}
		if one.checks >= minChecks {
			confirmed[uid] = one
		}
		o.found[uid] = one
	}
	return confirmed
}

// orphanRecheckDelay is the least time between two checks that count: a cloud that reports changes may cause several at
// once.
const orphanRecheckDelay = time.Minute

// undecided reports whether another check is necessary to confirm an orphan, or to find that most objects in the cloud
// are no orphans any more.
func (o *orphanSet) undecided() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range o.found {
		if one.checks < minChecks || one.held {
			return true
		}
	}
	return false
}

// objects returns the objects of all orphans that enough checks have found.
func (o *orphanSet) objects() []cloud.ManagedObject {
	o.mu.Lock()
	defer o.mu.Unlock()
	var objects []cloud.ManagedObject
	for _, one := range o.found {
		if one.checks >= minChecks {
			objects = append(objects, one.objects...)
		}
	}
	return objects
}

// handleOrphan reports an orphan once, and queues its deletion if that is configured. Most means that more than half of
// the objects in the cloud are orphans. Then nothing is deleted, because the configuration may be that of another
// cluster, or the cluster may have been restored.
func (c *Controller) handleOrphan(ctx context.Context, uid types.UID, one *orphan, most bool) {
	advice := c.adviceOn(ctx, one, most)
	if !one.reported {
		one.reported = true
		c.recorder.Eventf(c.eventObject(one.service), corev1.EventTypeWarning, reasonOrphaned, textOrphaned,
			namesOf(one.objects), klog.KObj(one.service), uid, advice)
		klog.FromContext(ctx).Info("The cloud has something of a Service that is gone", "service",
			klog.KObj(one.service), "uid", uid, "what", namesOf(one.objects), "advice", advice)
	}
	remove, held := advice == adviceRemoved, advice == adviceHeld && one.isNamed()
	if c.orphanSet.decide(one, remove, held); remove {
		c.queue.Enqueue(orphanPrefix+string(uid), priorityqueue.Relaxed, 0)
	}
}

// adviceOn returns the advice in the event about an orphan, which is adviceRemoved if it is deleted now.
func (c *Controller) adviceOn(ctx context.Context, one *orphan, most bool) string {
	switch {
	case one.otherClass:
		return adviceOtherClass
	case slices.ContainsFunc(one.objects, func(object cloud.ManagedObject) bool { return object.Retained }):
		return adviceRetained
	case slices.ContainsFunc(one.objects, func(object cloud.ManagedObject) bool { return object.Unlabelled }):
		return adviceUnlabelled
	case !c.behaviour.RemoveOrphans:
		return adviceReported
	case most || !one.isNamed():
		return adviceHeld
	}
	if doubt := c.doubt(ctx, one); doubt != "" {
		return fmt.Sprintf(adviceDoubt, doubt, one.service.UID)
	}
	return adviceRemoved
}

// doubt returns why an orphan may belong to another cluster; "" if it does not.
func (c *Controller) doubt(ctx context.Context, one *orphan) string {
	nodes, err := c.nodeSet.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Sprintf("the Nodes are not known: %v", err)
	}
	return Doubt(ctx, c.identity, one.objects, nodes, c.provider.Identify)
}

// decide records whether an orphan should be deleted, or is held.
func (o *orphanSet) decide(one *orphan, remove, held bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one.remove, one.held = remove, held
}

// removable returns an orphan that should be deleted, and its Service; nil if there is none.
func (o *orphanSet) removable(uid types.UID) (*orphan, *corev1.Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one := o.found[uid]; one != nil && one.remove {
		return one, one.service
	}
	return nil, nil
}

// removeOrphan deletes the objects of an orphan after the API server has confirmed that the Service does not exist,
// because the cache may be older.
func (c *Controller) removeOrphan(ctx context.Context, uid types.UID) error {
	one, deleted := c.orphanSet.removable(uid)
	if one == nil {
		return nil
	}
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, deleted.Name).String()
	current, err := c.client.CoreV1().Services(deleted.Namespace).List(ctx, metav1.ListOptions{FieldSelector: name})
	if err != nil {
		return fmt.Errorf("asking whether Service %s is gone: %w", klog.KObj(deleted), err)
	}
	// A Service of another class also exists: its controller may use the objects.
	if slices.ContainsFunc(current.Items, func(one corev1.Service) bool { return one.UID == deleted.UID }) {
		return nil
	}
	one.state.Lock()
	defer one.state.Unlock()
	if err := c.ensureDeleted(ctx, &one.state, deleted); err != nil {
		return err
	}
	one.state.reset()
	return nil
}

// eventObject returns the object for events about a deleted Service: the Service, or its namespace if no other Service
// is in it. No events can be created in a namespace that was deleted, but events about namespaces are in the namespace
// default.
func (c *Controller) eventObject(deleted *corev1.Service) runtime.Object {
	if left, err := c.services.Services(deleted.Namespace).List(labels.Everything()); deleted.Namespace == "" ||
		err != nil || len(left) > 0 {
		return deleted
	}
	return namespaceOf(deleted.Namespace)
}

// deletedService returns an object for the Service of an orphan, as far as the labels describe it.
func deletedService(uid types.UID, objects []cloud.ManagedObject) *corev1.Service {
	name := objects[0].Service
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: uid},
	}
}

// namesOf returns the names of the objects of an orphan.
func namesOf(objects []cloud.ManagedObject) string {
	var names []string
	for _, object := range objects[:min(len(objects), maxSummary)] {
		names = append(names, object.Kind+" "+object.Name+" ("+object.Identity+")")
	}
	if len(objects) > maxSummary {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
