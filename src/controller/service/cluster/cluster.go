// Package cluster has the Services, Nodes and EndpointSlices of a cluster in memory, for tests of controllers in
// virtual time.
//
// Processes use it with client-go's own client and informers, through Transport, in the protocol of the API server. It
// exists longer than the processes. Tests change the objects with the methods.
package cluster

import (
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// Object is a *corev1.Service, *corev1.Node or *discoveryv1.EndpointSlice.
type Object = apiserver.Object

// Cluster contains the objects of a cluster. It is made by New.
type Cluster struct{ server *apiserver.Server }

// New returns an empty cluster.
func New() *Cluster {
	server := apiserver.New(apiserver.Options{NoRequests: true, Kinds: []*apiserver.Kind{{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Resource: "services",
		Object: &corev1.Service{}, HasStatus: true, ValidName: apivalidation.NameIsDNS1035Label,
	}, {
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"), Resource: "nodes",
		Object: &corev1.Node{}, HasStatus: true, Cluster: true, ValidName: apivalidation.NameIsDNSSubdomain,
	}, {
		GroupVersionKind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Resource: "endpointslices",
		Object: &discoveryv1.EndpointSlice{}, ValidName: apivalidation.NameIsDNSSubdomain,
	}}})
	server.Fail(refuse)
	return &Cluster{server}
}

// refuse refuses all writes but those that controllers make: patches of the status and the finalizers of Services, and
// patches and deletions of Nodes.
func refuse(r apiserver.Request) *metav1.Status {
	offered := []string{"patch services/status", "patch nodes/", "patch nodes/status", "delete nodes/"}
	if !r.IsWrite() || slices.Contains(offered, r.Verb+" "+r.Resource+"/"+r.Subresource) {
		return nil
	}
	status := apierrors.NewMethodNotSupported(schema.GroupResource{Resource: r.Resource}, r.Verb).Status()
	return &status
}

// Client returns a client whose requests go through network, which is Transport or forwards to it. The client has no
// rate limit.
func Client(network http.RoundTripper) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://cluster.test", Transport: network, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, nil
}

// Transport returns a transport to the cluster without a network, for any host.
func (c *Cluster) Transport() http.RoundTripper { return c.server.Transport() }

// Version returns the number of changes.
func (c *Cluster) Version() int { return int(c.server.Version()) }

// Create adds a copy of an object, and generates a UID if it has none. It returns an error if an object with the name
// exists.
func (c *Cluster) Create(object Object) error {
	var added bool
	c.server.Do(func(objects apiserver.State) { _, added = objects.Add(object) })
	if !added {
		return apierrors.NewAlreadyExists(resourceOf(object), object.GetName())
	}
	return nil
}

// Change calls do with a copy of the object that has the type and name of like, and replaces the object with the copy.
// As in the API server, the UID and the deletion timestamp do not change, an object that is being deleted exists until
// it has no finalizers, and a Service of another type than LoadBalancer has neither a class nor addresses.
func (c *Cluster) Change(like Object, do func(Object)) error {
	changed := false
	c.server.Do(func(objects apiserver.State) {
		changed = objects.Change(like, func(object Object) {
			do(object)
			if service, ok := object.(*corev1.Service); ok && service.Spec.Type != corev1.ServiceTypeLoadBalancer {
				service.Spec.LoadBalancerClass, service.Status.LoadBalancer = nil, corev1.LoadBalancerStatus{}
			}
		})
	})
	return wasThere(changed, like)
}

// ChangeNode is Change for the Node with the name.
func (c *Cluster) ChangeNode(name string, do func(*corev1.Node)) error {
	return c.Change(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(object Object) {
		if node, ok := object.(*corev1.Node); ok {
			do(node)
		}
	})
}

// Delete deletes the object that has the type and name of like. An object with finalizers gets a deletion timestamp.
func (c *Cluster) Delete(like Object) error {
	deleted := false
	c.server.Do(func(objects apiserver.State) { deleted = objects.Delete(like) })
	return wasThere(deleted, like)
}

// Replace replaces the object with the name by a new object, as if the finalizers had been removed, and the object
// deleted and created again.
func (c *Cluster) Replace(object Object) error {
	c.server.Do(func(objects apiserver.State) {
		objects.Remove(object)
		objects.Add(object)
	})
	return nil
}

// wasThere returns an error if there is no object with the type and name of like.
func wasThere(exists bool, like Object) error {
	if exists {
		return nil
	}
	return apierrors.NewNotFound(resourceOf(like), like.GetName())
}

// resourceOf returns the resource of an object.
func resourceOf(object Object) schema.GroupResource {
	switch object.(type) {
	case *corev1.Service:
		return corev1.Resource("services")
	case *corev1.Node:
		return corev1.Resource("nodes")
	}
	return discoveryv1.Resource("endpointslices")
}

// Services returns all Services, by namespace and name. They must not be modified.
func (c *Cluster) Services() []*corev1.Service { return all[*corev1.Service](c) }

// Nodes returns all Nodes, by name. They must not be modified.
func (c *Cluster) Nodes() []*corev1.Node { return all[*corev1.Node](c) }

// EndpointSlices returns all EndpointSlices, by namespace and name. They must not be modified.
func (c *Cluster) EndpointSlices() []*discoveryv1.EndpointSlice {
	return all[*discoveryv1.EndpointSlice](c)
}

func all[T Object](c *Cluster) (found []T) {
	c.server.Do(func(objects apiserver.State) { found = apiserver.List[T](objects, "") })
	return found
}
