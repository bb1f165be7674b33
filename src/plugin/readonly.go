package plugin

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// readOnly sends no request that writes.
type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. Requests of access reviews create nothing.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && !isReview(request) {
		return nil, fmt.Errorf("%s %s is not sent, because this command only reads", request.Method, request.URL.Path)
	}
	return r.next.RoundTrip(request)
}

// isReview reports whether a request asks what a user may do. The address of a server may have a path of its own.
func isReview(request *http.Request) bool {
	const group = "/apis/authorization.k8s.io/v1/"
	path := request.URL.Path
	return request.Method == http.MethodPost && (strings.HasSuffix(path, group+"selfsubjectaccessreviews") ||
		strings.HasSuffix(path, group+"subjectaccessreviews"))
}

// Limits of requests to the API server. With the defaults of client-go, 5 and 10, a check of many objects takes
// minutes.
const (
	requestsPerSecond = 50
	burst             = 100
)

// onlyReading returns the configuration of a client that sends no request that writes.
func onlyReading(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, burst
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	return config
}
