package client

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
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

// operationOf finds the operation in a request of a typed client, as the API server does. Prefix is what precedes the
// path of the API.
func operationOf(sent *http.Request, prefix string) operation {
	api := request.RequestInfoFactory{APIPrefixes: sets.NewString("apis")}
	path := &url.URL{Path: strings.TrimPrefix(sent.URL.Path, prefix), RawQuery: sent.URL.RawQuery}
	info, err := api.NewRequestInfo(&http.Request{Method: sent.Method, URL: path})
	if err != nil {
		return operation{verb: strings.ToLower(sent.Method)}
	}
	o := operation{verb: info.Verb, resource: info.Resource, name: info.Name}
	if info.Subresource != "" {
		o.resource += "/" + info.Subresource
	}
	return o
}
