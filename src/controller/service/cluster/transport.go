package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Client is a client whose requests go through network, which is Transport or leads to it. It has no limit on their
// rate.
func Client(network http.RoundTripper) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://cluster.test", Transport: network, QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, nil
}

// Transport reaches the cluster without a network, whatever host a request names: lists, watches, reading a single
// object, patches of the status of Services, which may change finalizers as well, and patches and deletions of Nodes.
func (c *Cluster) Transport() http.RoundTripper { return direct{c} }

type direct struct{ *Cluster }

// RoundTrip answers in the caller's goroutine.
func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	body, err := d.serve(request)
	if err != nil {
		return refusal(request, err)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1,
	}, nil
}

// refusal is how the API says that something is wrong.
func refusal(request *http.Request, err error) (*http.Response, error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status.Code, status.Reason), StatusCode: int(status.Code), Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Request: request, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// address is what a request is about.
type address struct{ resource, namespace, name, part string }

// addressOf reads a path: /api/v1/namespaces/shop/services/web/status.
func addressOf(path string) address {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	var a address
	if len(parts) > 2 && parts[0] == "namespaces" {
		a.namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&a.resource, &a.name, &a.part} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return a
}

// key is that of the object.
func (a address) key() string { return strings.TrimPrefix(a.namespace+"/"+a.name, "/") }

// serve answers a request.
func (c *Cluster) serve(request *http.Request) (io.ReadCloser, error) {
	a, query := addressOf(request.URL.Path), request.URL.Query()
	k, known := c.kinds[a.resource]
	switch {
	case !known:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: a.resource}, a.name)
	case request.Method == http.MethodGet && query.Get("watch") == "true":
		return c.watch(request.Context(), k, query)
	case request.Method == http.MethodGet && a.name == "":
		return c.list(k, a, query)
	case request.Method == http.MethodGet:
		return c.get(k, a)
	case request.Method == http.MethodPatch && a.resource == "services" && a.part == "status":
		return c.patch(request, a)
	case request.Method == http.MethodPatch && a.resource == "nodes" && (a.part == "" || a.part == "status"):
		return c.patchNode(request, a)
	case request.Method == http.MethodDelete && a.resource == "nodes" && a.part == "":
		return c.deleteNode(request, a)
	}
	return nil, apierrors.NewMethodNotSupported(k.resource, request.Method)
}

// get reads one object.
func (c *Cluster) get(k *kind, a address) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object, exists := k.objects[a.key()]
	if !exists {
		return nil, apierrors.NewNotFound(k.resource, a.name)
	}
	return written(object)
}

// list reads all objects, those of a namespace, or those that a field selector wants.
func (c *Cluster) list(k *kind, a address, query url.Values) (io.ReadCloser, error) {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	items := slices.DeleteFunc(k.sorted(), func(object Object) bool {
		named := fields.Set{metav1.ObjectNameField: object.GetName(), "metadata.namespace": object.GetNamespace()}
		return (a.namespace != "" && object.GetNamespace() != a.namespace) || !selector.Matches(named)
	})
	return written(map[string]any{
		"apiVersion": k.meta.APIVersion, "kind": k.meta.Kind + "List",
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(len(c.history))}, "items": items,
	})
}

// patch changes the status and the finalizers of a Service, unless it is not the one that the patch is meant for.
func (c *Cluster) patch(request *http.Request, a address) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds["services"]
	object, exists := k.objects[a.key()]
	before, isService := object.(*corev1.Service)
	if !exists || !isService {
		return nil, apierrors.NewNotFound(k.resource, a.name)
	}
	after, err := merged(before, text)
	if err != nil {
		return nil, err
	}
	added := slices.ContainsFunc(after.Finalizers, func(one string) bool {
		return !slices.Contains(before.Finalizers, one)
	})
	if err := c.meant(before, &after.UID, &after.ResourceVersion); err != nil {
		return nil, err
	}
	switch {
	case added && before.DeletionTimestamp != nil:
		return nil, apierrors.NewForbidden(k.resource, a.name,
			errors.New("no new finalizers can be added if the object is being deleted"))
	case reflect.DeepEqual(before.Finalizers, after.Finalizers) && reflect.DeepEqual(before.Status, after.Status):
		return written(before)
	}
	err = c.change(before, func(object Object) {
		if service, ok := object.(*corev1.Service); ok {
			service.Finalizers, service.Status = after.Finalizers, after.Status
		}
	})
	if err != nil {
		return nil, err
	}
	return written(json.RawMessage(c.history[len(c.history)-1].text))
}

// merged is a Service after a strategic merge patch.
func merged(before *corev1.Service, patch []byte) (*corev1.Service, error) {
	original, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	text, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Service{})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after := &corev1.Service{}
	if err := json.Unmarshal(text, after); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
}

// written is a body.
func written(value any) (io.ReadCloser, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
