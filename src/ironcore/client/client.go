// Package client has the typed clients of the IronCore API for one namespace.
//
// All requests go through one transport. It gives a deadline to each request that is not a watch, counts and times the
// requests, records whether the API answers, and exchanges credentials and certificates while the clients are in use.
package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/client-go/ironcore/versioned/typed/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/client-go/ironcore/versioned/typed/networking/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/kubeconfig"
)

// DefaultCallTimeout is the maximum duration of a request that is not a watch, until its answer was read.
const DefaultCallTimeout = 30 * time.Second

// Client reads and writes the objects that the cluster uses: those of one namespace, and the machine pools, which have
// no namespace. It is safe for concurrent use.
type Client struct {
	// Namespace contains all objects but machine pools.
	Namespace string

	Machines             computev1alpha1.MachineInterface
	MachinePools         computev1alpha1.MachinePoolInterface
	Networks             networkingv1alpha1.NetworkInterface
	NetworkInterfaces    networkingv1alpha1.NetworkInterfaceInterface
	LoadBalancers        networkingv1alpha1.LoadBalancerInterface
	LoadBalancerRoutings networkingv1alpha1.LoadBalancerRoutingInterface

	networking rest.Interface // for the answers to deletions, which the typed clients drop
	reviews    authorizationv1client.SelfSubjectAccessReviewInterface

	host      string // of the API server, as in the configuration
	transport *transport
	readiness readiness
}

// New returns a client of the API server that config names. It sends no request. Config.Timeout is the maximum duration
// of each request that is not a watch; 0 is DefaultCallTimeout. All requests together keep to the rate limit of the
// configuration. The error is that the configuration cannot be used, such as a certificate that cannot be read.
func New(config *rest.Config, namespace string) (*Client, error) {
	config = rest.CopyConfig(config)
	// The server of IronCore does not offer protobuf.
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.RateLimiter = limiterOf(config)
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the IronCore API: %w", err)
	}
	t, err := newTransport(config, strings.TrimRight(server.Path, "/"))
	if err != nil {
		return nil, err
	}
	c := &Client{Namespace: namespace, host: config.Host, transport: t}
	// A timeout of the HTTP client would end watches.
	return c, c.connect(config, &http.Client{Transport: t})
}

// connect makes the typed clients.
func (c *Client) connect(config *rest.Config, network *http.Client) error {
	compute, err := computev1alpha1.NewForConfigAndClient(config, network)
	if err != nil {
		return fmt.Errorf("making a client of compute.ironcore.dev: %w", err)
	}
	networking, err := networkingv1alpha1.NewForConfigAndClient(config, network)
	if err != nil {
		return fmt.Errorf("making a client of networking.ironcore.dev: %w", err)
	}
	authorization, err := authorizationv1client.NewForConfigAndClient(config, network)
	if err != nil {
		return fmt.Errorf("making a client of authorization.k8s.io: %w", err)
	}
	c.reviews = authorization.SelfSubjectAccessReviews()
	c.Machines, c.MachinePools = compute.Machines(c.Namespace), compute.MachinePools()
	c.networking = networking.RESTClient()
	c.Networks = networking.Networks(c.Namespace)
	c.NetworkInterfaces = networking.NetworkInterfaces(c.Namespace)
	c.LoadBalancers = networking.LoadBalancers(c.Namespace)
	c.LoadBalancerRoutings = networking.LoadBalancerRoutings(c.Namespace)
	return nil
}

// Delete deletes an object of networking.ironcore.dev: resource is the plural, such as "loadbalancers". If finalizers
// hold the object, the API server answers with the object, which is stored in answer. If the object does not exist any
// more, answer does not change. A deletion that the API server refuses for a time, with "Retry-After", is an error at
// once, and not sent again: its reason may be gone by then.
func (c *Client) Delete(ctx context.Context, resource, name string, options metav1.DeleteOptions,
	answer runtime.Object) error {
	request := c.networking.Delete().Namespace(c.Namespace).Resource(resource).Name(name).Body(&options).
		MaxRetries(0)
	return request.Do(ctx).Into(answer)
}

// limiterOf returns one limiter for the clients of all groups, which would otherwise have one each.
func limiterOf(config *rest.Config) flowcontrol.RateLimiter {
	if config.RateLimiter != nil || config.QPS < 0 {
		return config.RateLimiter
	}
	return flowcontrol.NewTokenBucketRateLimiter(cmp.Or(config.QPS, rest.DefaultQPS), cmp.Or(config.Burst,
		rest.DefaultBurst))
}

// Adopt changes to the credentials and certificates in config, after trying them: probe makes a request with the
// context that it gets, which is sent with the new ones, while all other requests use the old ones. If it fails, the
// old ones stay in use, and its error is returned. Requests and watches that were begun continue with the old ones
// until they end.
//
// The API server must be the same: everything that was read from it would be wrong for another one.
func (c *Client) Adopt(ctx context.Context, config *rest.Config, probe func(context.Context) error) error {
	if config.Host != c.host {
		return fmt.Errorf("the server has changed from %s to %s: restart the program to use it", c.host, config.Host)
	}
	candidate, err := connect(config)
	if err != nil {
		return err
	}
	if err := probe(withCandidate(ctx, candidate)); err != nil {
		candidate.close()
		return err
	}
	c.transport.connection.Swap(candidate).close()
	return nil
}

// Probe requests the Network with that name. It is for Adopt, and shows that the API answers and accepts the
// credentials.
func (c *Client) Probe(ctx context.Context, network string) error {
	_, err := c.Networks.Get(ctx, network, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Network %s/%s: %w", c.Namespace, network, err)
	}
	return nil
}

// Allowed returns whether the API permits the user of the client a verb for all objects of a resource: those of the
// namespace, or those without one.
func (c *Client) Allowed(ctx context.Context, group, resource, verb string, namespaced bool) (bool, error) {
	asked := &authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb}
	if namespaced {
		asked.Namespace = c.Namespace
	}
	answer, err := c.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: asked}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking the IronCore API whether %s %s is permitted: %w", verb, resource, err)
	}
	return answer.Status.Allowed, nil
}

// LastRequest returns when the latest request ended, and the reason if the API did not answer it or does not accept the
// credentials. An answer such as "not found" is an answer. The time is zero if there was no request.
func (c *Client) LastRequest() (time.Time, error) { return c.transport.health.last() }

// Collectors are the metrics of the requests.
func (c *Client) Collectors() []prometheus.Collector { return c.transport.metrics.collectors() }

// Described returns the metrics of a client and of its Reloader without values, to describe them.
func Described() []prometheus.Collector {
	reloader := new(Client).Reloader(kubeconfig.Access{}, nil, "", nil)
	return append(newMetrics().collectors(), reloader.Collectors()...)
}
