package client

import (
	"net/http"
	"strings"
)

// operation is what a request does, in the words of Kubernetes.
type operation struct {
	verb, resource string
	name           string // of the object; empty if it is about many
}

func (o operation) watch() bool { return o.verb == "watch" }

// method returns the HTTP method as far as it matters for writes: a question about permissions is none, although it is
// sent by POST.
func (o operation) method(sent string) string {
	if o.resource == "selfsubjectaccessreviews" {
		return http.MethodGet
	}
	return sent
}

// operationOf finds the operation in a request of a typed client. Its path is the prefix, and after that
// /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]].
func operationOf(request *http.Request, prefix string) operation {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(request.URL.Path, prefix), "/"), "/")
	parts = append(parts, make([]string, 6)...) // those that are missing are empty
	if parts = parts[3:]; parts[0] == "namespaces" && parts[2] != "" {
		parts = parts[2:]
	}
	resource, name, subresource := parts[0], parts[1], parts[2]
	o := operation{verb: verbOf(request, name), resource: resource, name: name}
	if subresource != "" {
		o.resource += "/" + subresource
	}
	return o
}

func verbOf(request *http.Request, name string) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return verbWithout(name, "delete", "deletecollection")
	}
	if watch := request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return "watch"
	}
	return verbWithout(name, "get", "list")
}

// verbWithout returns the verb for one object, or the verb for all objects if there is no name.
func verbWithout(name, one, all string) string {
	if name == "" {
		return all
	}
	return one
}
