package plugin

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// readOnly sends no request that writes.
type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. Requests of access reviews create nothing.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && !isReview(request) {
		if request.Body != nil {
			_ = request.Body.Close() // as an http.RoundTripper does in any case
		}
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

// clients returns the clients of a cluster, which send no request that writes.
func (s *settings) clients(config *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	config = onlyReading(config)
	client, err := s.Client(config)
	if err != nil {
		return nil, nil, err
	}
	objects, err := s.Objects(config)
	return client, objects, err
}

// newObjects is the default of Options.Objects.
func newObjects(config *rest.Config) (dynamic.Interface, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of Kubernetes: %w", err)
	}
	return objects, nil
}

// newClient is the default of Options.Client.
func newClient(config *rest.Config) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of Kubernetes: %w", err)
	}
	return client, nil
}
