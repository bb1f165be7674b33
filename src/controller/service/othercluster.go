package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// foreignSet contains the objects in the cloud that have the key of this cluster and the UID of another one.
type foreignSet struct {
	mu       sync.Mutex
	objects  []cloud.ManagedObject
	reported map[types.UID]bool // UIDs of clusters
}

// update replaces the objects, and returns those that no Service here has, of clusters that were not reported yet, by
// the UID of the cluster.
func (f *foreignSet) update(objects []cloud.ManagedObject,
	known map[types.UID]*corev1.Service) map[types.UID][]cloud.ManagedObject {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := map[types.UID][]cloud.ManagedObject{}
	for _, object := range objects {
		if known[object.UID] == nil && !f.reported[object.ClusterUID] {
			fresh[object.ClusterUID] = append(fresh[object.ClusterUID], object)
		}
	}
	if f.reported == nil {
		f.reported = map[types.UID]bool{}
	}
	for uid := range fresh {
		f.reported[uid] = true
	}
	f.objects = objects
	return fresh
}

// list returns the objects.
func (f *foreignSet) list() []cloud.ManagedObject {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects
}

// findForeign finds the objects of other clusters with the key of this one, and reports each such cluster once. If
// Services of this cluster have all of its objects, there is no report: each of these Services has an event of its own.
func (c *Controller) findForeign(ctx context.Context, known map[types.UID]*corev1.Service) error {
	if c.identity == nil {
		return nil
	}
	objects, err := c.identity.ListForeign(ctx)
	if err != nil {
		return fmt.Errorf("looking for objects of other clusters with the same key: %w", err)
	}
	fresh := c.foreign.update(objects, known)
	for _, uid := range slices.Sorted(maps.Keys(fresh)) {
		c.reportForeign(uid, fresh[uid])
	}
	return nil
}

// reportForeign records an event about the objects of the cluster with the UID. It is about the namespace whose UID
// identifies this cluster.
func (c *Controller) reportForeign(uid types.UID, objects []cloud.ManagedObject) {
	c.recorder.Eventf(namespaceOf(metav1.NamespaceSystem), corev1.EventTypeWarning, reasonForeign, textForeign,
		len(objects), uid, namesOf(objects))
}

// namespaceOf returns the object for events about a namespace.
func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Doubt returns why objects without a Service may belong to another cluster with the same key, so that they are not
// deleted: they do not have the UID of this cluster, and are in use by running machines that are no Nodes of it. It is
// "" if there is no doubt. The identity may be nil: then there is never any.
func Doubt(ctx context.Context, identity cloud.ClusterIdentity, objects []cloud.ManagedObject, nodes []*corev1.Node,
	identify cloud.Identify) string {
	unproven := slices.DeleteFunc(slices.Clone(objects), func(object cloud.ManagedObject) bool { return object.Proven })
	if identity == nil || len(unproven) == 0 {
		return ""
	}
	machines, err := identity.RunningTargets(ctx, unproven)
	if err != nil {
		return fmt.Sprintf("it is not known whether they belong to another cluster: %v", err)
	}
	if machines = withoutNode(machines, nodes, identify); len(machines) == 0 {
		return ""
	}
	return "they may belong to another cluster: they do not have the UID of this one, and these running machines, " +
		"which are no Nodes of this one, are their targets: " + event.Names(machines)
}

// withoutNode returns the machines that no Node has.
func withoutNode(machines []string, nodes []*corev1.Node, identify cloud.Identify) []string {
	ours := map[string]bool{}
	for _, node := range nodes {
		if machine, known := identify(node); known {
			ours[machine] = true
		}
	}
	return slices.DeleteFunc(machines, func(machine string) bool { return ours[machine] })
}
