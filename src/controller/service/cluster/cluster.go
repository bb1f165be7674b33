// Package cluster is as much of the Kubernetes API as the controllers for Services and Nodes use, in memory, for tests
// in virtual time: Services, Nodes and EndpointSlices with resource versions, finalizers and deletion timestamps. It
// outlives the processes that work on it: they use client-go's own client and informers, through Transport, and what
// they are told is on the wire's protocol. Whoever owns the objects changes them with the methods.
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

// Cluster is the objects of a cluster and how they became what they are. It is made by New.
type Cluster struct {
	mu      sync.Mutex
	kinds   map[string]*kind // by resource: "services"
	history []change         // the version of the nth is n, from 1
	changed chan struct{}    // closed with the next change
	made    int              // UIDs
}

// kind is all objects of one kind.
type kind struct {
	resource schema.GroupResource
	meta     metav1.TypeMeta
	objects  map[string]Object // by namespace/name, or name; never changed, only replaced
}

// change is one step of the history.
type change struct {
	resource string
	verb     watch.EventType
	text     []byte // the object afterwards, or the last time
}

// New returns a cluster that is empty.
func New() *Cluster {
	return &Cluster{changed: make(chan struct{}), kinds: map[string]*kind{
		"services": {schema.GroupResource{Resource: "services"}, metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			map[string]Object{}},
		"nodes": {schema.GroupResource{Resource: "nodes"}, metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			map[string]Object{}},
		"endpointslices": {schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"},
			metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, map[string]Object{}},
	}}
}

// resourceOf is the resource of an object.
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

// Create adds a copy of an object. It gets a UID unless it has one. The error is that there is one of that name.
func (c *Cluster) Create(object Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[resourceOf(object)]
	if _, exists := k.objects[keyOf(object)]; exists {
		return apierrors.NewAlreadyExists(k.resource, object.GetName())
	}
	created, err := copied(object)
	if err != nil {
		return err
	}
	if created.GetUID() == "" {
		c.made++
		created.SetUID(types.UID(fmt.Sprintf("%08d-made", c.made)))
	}
	created.SetCreationTimestamp(metav1.NewTime(time.Now()))
	return c.put(k, watch.Added, created)
}

// Change lets do change a copy of the object that has the kind and name of like, and replaces the object with it. What
// the owner of an object cannot change stays: UID, the time of its deletion, and its existence as long as it has
// finalizers.
func (c *Cluster) Change(like Object, do func(Object)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.change(like, do)
}

// ChangeNode is Change for the Node of that name.
func (c *Cluster) ChangeNode(name string, do func(*corev1.Node)) error {
	return c.Change(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(object Object) {
		if node, ok := object.(*corev1.Node); ok {
			do(node)
		}
	})
}

// change wants mu held.
func (c *Cluster) change(like Object, do func(Object)) error {
	k, before, after, err := c.find(like)
	if err != nil {
		return err
	}
	do(after)
	after.SetUID(before.GetUID())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		return c.drop(k, after)
	}
	return c.put(k, watch.Modified, after)
}

// Delete removes the object that has the kind and name of like, once it has no finalizers any more.
func (c *Cluster) Delete(like Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _, after, err := c.find(like)
	if err != nil {
		return err
	}
	if len(after.GetFinalizers()) == 0 {
		return c.drop(k, after)
	}
	if after.GetDeletionTimestamp() != nil {
		return nil
	}
	now := metav1.Now()
	after.SetDeletionTimestamp(&now)
	return c.put(k, watch.Modified, after)
}

// find returns the object that has the kind and name of like, and a copy to change. It wants mu held.
func (c *Cluster) find(like Object) (k *kind, found, changeable Object, err error) {
	k = c.kinds[resourceOf(like)]
	found, exists := k.objects[keyOf(like)]
	if !exists {
		return nil, nil, nil, apierrors.NewNotFound(k.resource, like.GetName())
	}
	changeable, err = copied(found)
	return k, found, changeable, err
}

// drop ends an object and tells of it. It wants mu held.
func (c *Cluster) drop(k *kind, object Object) error {
	delete(k.objects, keyOf(object))
	return c.tell(k, watch.Deleted, object)
}

// put keeps an object and tells of it. It wants mu held.
func (c *Cluster) put(k *kind, verb watch.EventType, object Object) error {
	if err := c.tell(k, verb, object); err != nil {
		return err
	}
	k.objects[keyOf(object)] = object
	return nil
}

// tell makes the object, with a new version, the next step of the history. It wants mu held.
func (c *Cluster) tell(k *kind, verb watch.EventType, object Object) error {
	object.SetResourceVersion(strconv.Itoa(len(c.history) + 1))
	object.GetObjectKind().SetGroupVersionKind(k.meta.GroupVersionKind())
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing %s %s: %w", k.meta.Kind, keyOf(object), err)
	}
	c.history = append(c.history, change{k.resource.Resource, verb, text})
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// copied is a deep copy.
func copied(object Object) (Object, error) {
	same, ok := object.DeepCopyObject().(Object)
	if !ok {
		return nil, fmt.Errorf("a copy of %T is something else", object)
	}
	return same, nil
}

// Version counts the changes there have been.
func (c *Cluster) Version() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.history)
}

// Services are all Services, by namespace and name. They are not to be modified.
func (c *Cluster) Services() []*corev1.Service { return all[*corev1.Service](c, "services") }

// Nodes are all Nodes, by name. They are not to be modified.
func (c *Cluster) Nodes() []*corev1.Node { return all[*corev1.Node](c, "nodes") }

// EndpointSlices are all of them, by namespace and name. They are not to be modified.
func (c *Cluster) EndpointSlices() []*discoveryv1.EndpointSlice {
	return all[*discoveryv1.EndpointSlice](c, "endpointslices")
}

func all[T Object](c *Cluster, resource string) []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []T
	for _, object := range c.kinds[resource].sorted() {
		if one, ok := object.(T); ok {
			found = append(found, one)
		}
	}
	return found
}

// sorted are the objects by namespace and name.
func (k *kind) sorted() []Object {
	found := make([]Object, 0, len(k.objects))
	for _, key := range slices.Sorted(maps.Keys(k.objects)) {
		found = append(found, k.objects[key])
	}
	return found
}

// Replace puts another object in the place of the one of its name, as if that had lost its finalizers, been deleted and
// made anew in a moment.
func (c *Cluster) Replace(object Object) error {
	if err := c.end(object); err != nil {
		return err
	}
	return c.Create(object)
}

// end drops the object that has the kind and name of like, if there is one, whatever finalizers it has.
func (c *Cluster) end(like Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, _, last, err := c.find(like)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return c.drop(k, last)
}
