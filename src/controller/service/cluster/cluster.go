// Package cluster is an API server in memory, as far as the controllers for Services and Nodes use it, for tests in
// virtual time. It stores Services, Nodes and EndpointSlices with resource versions, finalizers and deletion
// timestamps.
//
// Processes use it with client-go's own client and informers, through Transport, in the protocol of the API server. It
// exists longer than the processes. Tests change the objects with the methods.
package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is a *corev1.Service, *corev1.Node or *discoveryv1.EndpointSlice.
type Object interface {
	metav1.Object
	runtime.Object
}

// Cluster contains the objects of a cluster and the history of their changes. It is made by New.
type Cluster struct {
	mu      sync.Mutex
	stores  map[string]*store // by resource: "services"
	history []change          // the resource version of the nth change is n, from 1
	changed chan struct{}     // closed by the next change
	uids    int               // the number of UIDs that were generated
}

// store contains all objects of one resource.
type store struct {
	resource schema.GroupResource
	meta     metav1.TypeMeta
	objects  map[string]Object // by namespace/name, or name; never changed, only replaced
}

// change is one change of an object.
type change struct {
	resource string
	verb     watch.EventType
	text     []byte // the object after the change; for a deletion, its last state
}

// New returns an empty cluster.
func New() *Cluster {
	return &Cluster{changed: make(chan struct{}), stores: map[string]*store{
		"services": {schema.GroupResource{Resource: "services"}, metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			map[string]Object{}},
		"nodes": {schema.GroupResource{Resource: "nodes"}, metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			map[string]Object{}},
		"endpointslices": {schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"},
			metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, map[string]Object{}},
	}}
}

// resourceOf returns the resource of an object.
func resourceOf(object Object) string {
	switch object.(type) {
	case *corev1.Service:
		return "services"
	case *corev1.Node:
		return "nodes"
	}
	return "endpointslices"
}

func keyOf(object metav1.Object) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}

// Create adds a copy of an object, and generates a UID if it has none. It returns an error if an object with the name
// exists.
func (c *Cluster) Create(object Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stores[resourceOf(object)]
	if _, exists := s.objects[keyOf(object)]; exists {
		return apierrors.NewAlreadyExists(s.resource, object.GetName())
	}
	created, err := deepCopy(object)
	if err != nil {
		return err
	}
	if created.GetUID() == "" {
		c.uids++
		created.SetUID(types.UID(fmt.Sprintf("%08d-made", c.uids)))
	}
	created.SetCreationTimestamp(metav1.NewTime(time.Now()))
	return c.put(s, watch.Added, created)
}

// Change calls do with a copy of the object that has the type and name of like, and replaces the object with the copy.
// As in the API server, the UID and the deletion timestamp do not change, an object that is being deleted exists until
// it has no finalizers, and a Service of another type than LoadBalancer has neither a class nor addresses.
func (c *Cluster) Change(like Object, do func(Object)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.change(like, do)
}

// ChangeNode is Change for the Node with the name.
func (c *Cluster) ChangeNode(name string, do func(*corev1.Node)) error {
	return c.Change(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(object Object) {
		if node, ok := object.(*corev1.Node); ok {
			do(node)
		}
	})
}

// The caller holds mu.
func (c *Cluster) change(like Object, change func(Object)) error {
	s, before, after, err := c.find(like)
	if err != nil {
		return err
	}
	change(after)
	if service, ok := after.(*corev1.Service); ok && service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		service.Spec.LoadBalancerClass, service.Status.LoadBalancer = nil, corev1.LoadBalancerStatus{}
	}
	after.SetUID(before.GetUID())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		return c.remove(s, after)
	}
	return c.put(s, watch.Modified, after)
}

// Delete deletes the object that has the type and name of like. An object with finalizers gets a deletion timestamp.
func (c *Cluster) Delete(like Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, _, after, err := c.find(like)
	if err != nil {
		return err
	}
	if len(after.GetFinalizers()) == 0 {
		return c.remove(s, after)
	}
	if after.GetDeletionTimestamp() != nil {
		return nil
	}
	now := metav1.Now()
	after.SetDeletionTimestamp(&now)
	return c.put(s, watch.Modified, after)
}

// find returns the object that has the type and name of like, and a copy that can be changed. The caller holds mu.
func (c *Cluster) find(like Object) (s *store, found, changeable Object, err error) {
	s = c.stores[resourceOf(like)]
	found, exists := s.objects[keyOf(like)]
	if !exists {
		return nil, nil, nil, apierrors.NewNotFound(s.resource, like.GetName())
	}
	changeable, err = deepCopy(found)
	return s, found, changeable, err
}

// remove removes an object and records the change. The caller holds mu.
func (c *Cluster) remove(s *store, object Object) error {
	delete(s.objects, keyOf(object))
	return c.appendChange(s, watch.Deleted, object)
}

// put stores an object and records the change. The caller holds mu.
func (c *Cluster) put(s *store, verb watch.EventType, object Object) error {
	if err := c.appendChange(s, verb, object); err != nil {
		return err
	}
	s.objects[keyOf(object)] = object
	return nil
}

// appendChange appends a change to the history, sets the new resource version, and wakes the watches. The caller holds
// mu.
func (c *Cluster) appendChange(s *store, verb watch.EventType, object Object) error {
	object.SetResourceVersion(strconv.Itoa(len(c.history) + 1))
	object.GetObjectKind().SetGroupVersionKind(s.meta.GroupVersionKind())
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing %s %s: %w", s.meta.Kind, keyOf(object), err)
	}
	c.history = append(c.history, change{s.resource.Resource, verb, text})
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// deepCopy returns a copy of an object.
func deepCopy(object Object) (Object, error) {
	deep, ok := object.DeepCopyObject().(Object)
	if !ok {
		return nil, fmt.Errorf("a copy of %T is something else", object)
	}
	return deep, nil
}

// Version returns the number of changes.
func (c *Cluster) Version() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.history)
}

// Services returns all Services, by namespace and name. They must not be modified.
func (c *Cluster) Services() []*corev1.Service { return all[*corev1.Service](c, "services") }

// Nodes returns all Nodes, by name. They must not be modified.
func (c *Cluster) Nodes() []*corev1.Node { return all[*corev1.Node](c, "nodes") }

// EndpointSlices returns all EndpointSlices, by namespace and name. They must not be modified.
func (c *Cluster) EndpointSlices() []*discoveryv1.EndpointSlice {
	return all[*discoveryv1.EndpointSlice](c, "endpointslices")
}

func all[T Object](c *Cluster, resource string) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []T
	for _, object := range c.stores[resource].sorted() {
		if one, ok := object.(T); ok {
			found = append(found, one)
		}
	}
	return found
}

// sorted returns the objects by namespace and name.
func (s *store) sorted() []Object {
	found := make([]Object, 0, len(s.objects))
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		found = append(found, s.objects[key])
	}
	return found
}

// Replace replaces the object with the name by a new object, as if the finalizers had been removed, and the object
// deleted and created again.
func (c *Cluster) Replace(object Object) error {
	if err := c.removeAnyway(object); err != nil {
		return err
	}
	return c.Create(object)
}

// removeAnyway removes the object that has the type and name of like, if there is one, in spite of finalizers.
func (c *Cluster) removeAnyway(like Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, _, object, err := c.find(like)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return c.remove(s, object)
}
