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

// Client returns a client whose requests go through network, which is Transport or forwards to it. The client has no
// rate limit.
func Client(network http.RoundTripper) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://cluster.test", Transport: network, QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, nil
}

// Transport returns a transport to the cluster without a network, for any host. It supports lists, watches, reads of a
// single object, patches of the status and the finalizers of Services, and patches and deletions of Nodes.
func (c *Cluster) Transport() http.RoundTripper { return transport{c} }

type transport struct{ *Cluster }

// RoundTrip handles the request in the goroutine of the caller.
func (d transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	body, err := d.handle(request)
	if err != nil {
		return errorResponse(request, err)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1,
	}, nil
}

// errorResponse returns an error in the form of the API.
func errorResponse(request *http.Request, err error) (*http.Response, error) {
	var apiError apierrors.APIStatus
	if !errors.As(err, &apiError) {
		apiError = apierrors.NewInternalError(err)
	}
	status := apiError.Status()
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

// requestInfo is the resource of a request.
type requestInfo struct{ resource, namespace, name, subresource string }

// requestInfoOf parses a path: /api/v1/namespaces/shop/services/web/status.
func requestInfoOf(path string) requestInfo {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	var info requestInfo
	if len(parts) > 2 && parts[0] == "namespaces" {
		info.namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&info.resource, &info.name, &info.subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return info
}

// key returns the key of the object.
func (info requestInfo) key() string { return strings.TrimPrefix(info.namespace+"/"+info.name, "/") }

// handle returns the body of the response.
func (c *Cluster) handle(request *http.Request) (io.ReadCloser, error) {
	info, query := requestInfoOf(request.URL.Path), request.URL.Query()
	s, known := c.stores[info.resource]
	switch {
	case !known:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: info.resource}, info.name)
	case request.Method == http.MethodGet && query.Get("watch") == "true":
		return c.watch(request.Context(), s, query)
	case request.Method == http.MethodGet && info.name == "":
		return c.list(s, info, query)
	case request.Method == http.MethodGet:
		return c.get(s, info)
	case request.Method == http.MethodPatch && info.resource == "services" && info.subresource == "status":
		return c.patchService(request, info)
	case request.Method == http.MethodPatch && info.resource == "nodes" && (info.subresource == "" ||
		info.subresource == "status"):
		return c.patchNode(request, info)
	case request.Method == http.MethodDelete && info.resource == "nodes" && info.subresource == "":
		return c.deleteNode(request, info)
	}
	return nil, apierrors.NewMethodNotSupported(s.resource, request.Method)
}

// get returns one object.
func (c *Cluster) get(s *store, info requestInfo) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object, exists := s.objects[info.key()]
	if !exists {
		return nil, apierrors.NewNotFound(s.resource, info.name)
	}
	return encode(object)
}

// list returns all objects, those in a namespace, or those that match a field selector.
func (c *Cluster) list(s *store, info requestInfo, query url.Values) (io.ReadCloser, error) {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	items := slices.DeleteFunc(s.sorted(), func(object Object) bool {
		set := fields.Set{metav1.ObjectNameField: object.GetName(), "metadata.namespace": object.GetNamespace()}
		return (info.namespace != "" && object.GetNamespace() != info.namespace) || !selector.Matches(set)
	})
	return encode(map[string]any{
		"apiVersion": s.meta.APIVersion, "kind": s.meta.Kind + "List",
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(len(c.history))}, "items": items,
	})
}

// patchService applies a patch to the status and the finalizers of a Service. It refuses the patch if the preconditions
// do not match.
func (c *Cluster) patchService(request *http.Request, info requestInfo) (io.ReadCloser, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stores["services"]
	object, exists := s.objects[info.key()]
	before, isService := object.(*corev1.Service)
	if !exists || !isService {
		return nil, apierrors.NewNotFound(s.resource, info.name)
	}
	after, err := mergeService(before, text)
	if err != nil {
		return nil, err
	}
	added := slices.ContainsFunc(after.Finalizers, func(one string) bool {
		return !slices.Contains(before.Finalizers, one)
	})
	if err := c.checkPreconditions(before, &after.UID, &after.ResourceVersion); err != nil {
		return nil, err
	}
	switch {
	case added && before.DeletionTimestamp != nil:
		return nil, apierrors.NewForbidden(s.resource, info.name,
			errors.New("no new finalizers can be added if the object is being deleted"))
	case reflect.DeepEqual(before.Finalizers, after.Finalizers) && reflect.DeepEqual(before.Status, after.Status):
		return encode(before)
	}
	err = c.change(before, func(object Object) {
		if service, ok := object.(*corev1.Service); ok {
			service.Finalizers, service.Status = after.Finalizers, after.Status
		}
	})
	if err != nil {
		return nil, err
	}
	return encode(json.RawMessage(c.history[len(c.history)-1].text))
}

// mergeService returns a Service after a strategic merge patch.
func mergeService(before *corev1.Service, patch []byte) (*corev1.Service, error) {
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

// encode returns a value as a body.
func encode(value any) (io.ReadCloser, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing the answer: %w", err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
