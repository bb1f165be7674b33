package simulator

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	networkingPath = "/apis/networking.ironcore.dev/v1alpha1"
	balancersPath  = networkingPath + "/namespaces/shoot/loadbalancers"
	protobuf       = "application/vnd.kubernetes.protobuf"
)

func TestHTTP(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, accept, contentType, body string
		code                                    int
	}{
		"list":             {http.MethodGet, balancersPath, "application/json", "", "", 200},
		"all namespaces":   {http.MethodGet, networkingPath + "/loadbalancers", "", "", "", 200},
		"protobuf":         {http.MethodGet, balancersPath, protobuf, "", "", 406},
		"protobuf or JSON": {http.MethodGet, balancersPath, protobuf + ", application/json", "", "", 200},
		"protobuf body":    {http.MethodPost, balancersPath, "", protobuf, "x", 415},
		"no JSON":          {http.MethodPost, balancersPath, "", "application/json", "x", 400},
		"no patch":         {http.MethodPatch, balancersPath + "/lb", "", "application/merge-patch+json", "[]", 400},
		"unknown patch":    {http.MethodPatch, balancersPath + "/lb", "", "application/json", "{}", 415},
		"apply without manager": {http.MethodPatch, balancersPath + "/lb", "", "application/apply-patch+yaml",
			`{"metadata":{"name":"lb"}}`, 422},
		"other kind":        {http.MethodGet, networkingPath + "/namespaces/shoot/natgateways", "", "", "", 404},
		"other group":       {http.MethodGet, "/api/v1/nodes", "", "", "", 404},
		"other subresource": {http.MethodGet, balancersPath + "/lb/scale", "", "", "", 404},
		"missing":           {http.MethodGet, balancersPath + "/none", "", "", "", 404},
		"unknown field": {http.MethodGet, balancersPath + "?fieldSelector=spec.networkRef.name%3Dnet",
			"", "", "", 400},
		"name":         {http.MethodGet, balancersPath + "?fieldSelector=metadata.name%3Dlb", "", "", "", 200},
		"bad selector": {http.MethodGet, balancersPath + "?labelSelector=%21%21", "", "", "", 400},
		"bad version":  {http.MethodGet, balancersPath + "?watch=true&resourceVersion=x", "", "", "", 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			r.createBalancer("lb", unchanged)
			request, err := http.NewRequestWithContext(t.Context(), test.method, r.Config().Host+test.path,
				strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", test.accept)
			request.Header.Set("Content-Type", test.contentType)
			response, err := r.Config().Transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			want(t, "code of "+string(body), response.StatusCode, test.code)
		})
	}
}
