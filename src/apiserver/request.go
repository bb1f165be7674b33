package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Request is one request of a client.
type Request struct {
	// Verb is get, list, watch, create, update, patch, apply or delete: apply is a patch with server-side apply.
	Verb string
	// Resource is the plural, such as "loadbalancers". It is empty if the path is none of a known resource; then Name
	// is the path.
	Resource, Namespace, Name, Subresource string
	// Manager is the field manager of a write.
	Manager string
	// Body is what the client sent; "" if it is large.
	Body string
	// Code is the status of the answer, and 0 while there is none or if the connection ended.
	Code int32
}

// String returns the verb and the object, such as "patch networkinterfaces/a-primary".
func (r Request) String() string {
	parts := []string{r.Resource, r.Name, r.Subresource}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return r.Verb + " " + strings.Join(parts, "/")
}

// IsWrite means that the request may change an object.
func (r Request) IsWrite() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// Reads returns how many objects and lists clients have requested, and how many watches they have begun.
func (s *Server) Reads() int {
	reads := 0
	for _, r := range s.Requests() {
		if !r.IsWrite() {
			reads++
		}
	}
	return reads
}

// Writes returns the writes that clients have requested, in order, also those that were refused or changed nothing.
func (s *Server) Writes() []string {
	var writes []string
	for _, r := range s.Requests() {
		if r.IsWrite() {
			writes = append(writes, r.String())
		}
	}
	return writes
}

// Requests returns all requests of clients, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, len(s.requests))
	for i, r := range s.requests {
		requests[i] = *r
	}
	return requests
}

// ForgetRequests begins to count requests anew.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// call is a request with all that is needed to answer it.
type call struct {
	Request
	kind        *Kind
	query       url.Values
	contentType string
}

// parse reads the method and the path of a request.
func (s *Server) parse(r *http.Request, body []byte) call {
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	c := call{query: r.URL.Query(), contentType: strings.TrimSpace(contentType)}
	c.Body, c.Manager = string(body), c.query.Get("fieldManager")
	if c.Manager == "" {
		c.Manager, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	c.Name = r.URL.Path
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case len(parts) > 3 && parts[0] == "apis":
		s.parsePath(&c, parts[1]+"/"+parts[2], parts[3:])
	case len(parts) > 2 && parts[0] == "api":
		s.parsePath(&c, parts[1], parts[2:])
	}
	c.Verb = c.verb(r.Method)
	if c.Verb == "create" && c.kind != nil && c.Name == "" {
		c.Name = nameIn(body)
	}
	return c
}

// largeBody is the size from which on bodies are not recorded: large tests would need too much memory.
const largeBody = 16 << 10

// nameIn returns the name of an encoded object; "" if it has none.
func nameIn(body []byte) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	return object.Name
}

// parsePath reads [namespaces NAMESPACE] RESOURCE [NAME [SUBRESOURCE]].
func (s *Server) parsePath(c *call, groupVersion string, parts []string) {
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	for _, k := range s.options.Kinds {
		if k.GroupVersion().String() == groupVersion && k.Resource == parts[0] {
			parts = append(parts, "", "")
			c.kind, c.Resource, c.Namespace, c.Name, c.Subresource = k, k.Resource, namespace, parts[1], parts[2]
		}
	}
}

func (c call) verb(method string) string {
	switch {
	case method == http.MethodPost:
		return "create"
	case method == http.MethodPut:
		return "update"
	case method == http.MethodDelete:
		return "delete"
	case method == http.MethodPatch && c.contentType == applyType:
		return "apply"
	case method == http.MethodPatch:
		return "patch"
	case c.query.Get("watch") == "true" || c.query.Get("watch") == "1":
		return "watch"
	case c.kind != nil && c.Name == "":
		return "list"
	}
	return "get"
}

func (c call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

func (c call) subject() string { return fmt.Sprintf("%s %q", c.Resource, c.Name) }

func (c call) dryRun() bool { return c.query.Get("dryRun") == metav1.DryRunAll }
