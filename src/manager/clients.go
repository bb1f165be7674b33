package manager

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// clientRetry is the back-off between attempts to get the credentials of a
// controller, which with --use-service-account-credentials come from the API
// server: from half a second to half a minute, for as long as it takes.
func clientRetry() wait.Backoff {
	const steps = 1 << 30 // of which none is ever the last
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Cap: 30 * time.Second, Steps: steps}
}

// clients builds the clients of controllers and cloud. Where the library's
// builder ends the process because the API server is away, this one tries again
// until the context ends.
type clients struct {
	cloudprovider.ControllerClientBuilder
	ctx context.Context // the library's interface has none
	// What the OrDie methods return once the context ended. The process is
	// stopping by then, and requests with it.
	lastConfig *rest.Config
	lastClient kubernetes.Interface
}

// ConfigOrDie returns the configuration of the account called name, and waits
// for it as long as it takes.
func (c clients) ConfigOrDie(name string) *rest.Config {
	config, err := retry(c.ctx, name, c.Config)
	if err != nil {
		return c.lastConfig
	}
	return config
}

// ClientOrDie returns the client of the account called name, and waits for it
// as long as it takes.
func (c clients) ClientOrDie(name string) kubernetes.Interface {
	client, err := c.await(name)
	if err != nil {
		return c.lastClient
	}
	return client
}

// await returns the client of the account, or an error when the context ends.
func (c clients) await(name string) (kubernetes.Interface, error) {
	return retry(c.ctx, name, c.Client)
}

func retry[T any](ctx context.Context, name string, get func(name string) (T, error)) (result T, err error) {
	var last error
	err = clientRetry().DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
		result, last = get(name)
		if last != nil {
			klog.FromContext(ctx).Error(last, "Could not get credentials, trying again", "account", name)
		}
		return last == nil, nil
	})
	if err != nil {
		return result, fmt.Errorf("getting credentials of %q: %w (last attempt: %w)", name, err, last)
	}
	return result, nil
}
