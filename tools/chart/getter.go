package chart

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// helmBurst is the request burst of the helm command; discovery alone needs
// more than client-go's default of 10.
const helmBurst = 100

// getter gives Helm its API clients from a rest.Config, where the helm command
// would read a kubeconfig and keep discovery results under ~/.kube/cache. It
// implements genericclioptions.RESTClientGetter.
type getter struct {
	config    *rest.Config
	namespace string
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

func newGetter(config *rest.Config, namespace string) (*getter, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client for %s: %w", config.Host, err)
	}
	cached := memory.NewMemCacheClient(client)
	return &getter{
		config:    config,
		namespace: namespace,
		discovery: cached,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(cached),
	}, nil
}

// ToRESTConfig returns a copy, because kubectl's factories write into theirs.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns a client whose answers are kept in memory.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper returns the mapping of kinds to resources the cluster serves.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns the namespace for Helm; everything else in a
// kubeconfig is already part of the rest.Config.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// bind returns a copy of config whose requests end with ctx, and with nothing
// else, because Helm's actions take no context, and whose warnings go to the given writer.
func bind(ctx context.Context, config *rest.Config, warnings io.Writer) *rest.Config {
	bound := rest.CopyConfig(config)
	if bound.Burst == 0 {
		bound.Burst = helmBurst
	}
	bound.WarningHandlerWithContext = nil
	bound.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	bound.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			return next.RoundTrip(request.WithContext(ctx))
		})
	})
	return bound
}

// roundTripper is a function that implements http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
