package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Request is one request of a client.
type Request struct {
	// Verb is get, list, watch, create, update, patch, apply or delete: apply is a patch with server-side apply.
	Verb string
	// Resource is the plural, such as "loadbalancers". It is empty if the path is none of a known resource; then Name
	// is the path.
	Resource, Namespace, Name, Subresource string
}

// String returns the verb and the object, such as "patch networkinterfaces/a-primary".
func (r Request) String() string {
	parts := []string{r.Resource, r.Name, r.Subresource}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return r.Verb + " " + strings.Join(parts, "/")
}

// IsWrite means that the request may change an object.
func (r Request) IsWrite() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

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
	return slices.Clone(s.requests)
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
	manager     string // the field manager of a write
	body        []byte
}

// parse reads the method and the path of a request.
func (s *Server) parse(r *http.Request, body []byte) (call, error) {
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	c := call{query: r.URL.Query(), contentType: strings.TrimSpace(contentType), body: body}
	if c.manager = c.query.Get("fieldManager"); c.manager == "" {
		c.manager, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	api := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := api.NewRequestInfo(r)
	if err != nil {
		return c, apierrors.NewBadRequest(err.Error())
	}
	c.Verb, c.Name, c.Namespace, c.Subresource = info.Verb, info.Name, info.Namespace, info.Subresource
	if c.Verb == "patch" && c.contentType == applyType {
		c.Verb = "apply"
	}
	at := slices.IndexFunc(s.options.Kinds, func(k *Kind) bool {
		return k.Group == info.APIGroup && k.Version == info.APIVersion && k.Resource == info.Resource
	})
	if at < 0 {
		c.Name = r.URL.Path
		return c, nil
	}
	c.kind, c.Resource = s.options.Kinds[at], info.Resource
	if c.Verb == "create" && c.Name == "" {
		c.Name = nameIn(body)
	}
	return c, nil
}

// nameIn returns the name of an encoded object; "" if it has none.
func nameIn(body []byte) string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	return object.Name
}

func (c call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

func (c call) subject() string { return fmt.Sprintf("%s %q", c.Resource, c.Name) }
