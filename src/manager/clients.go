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

// clientRetry is the back-off between attempts to get the credentials of a controller, which come from the API server
// with --use-service-account-credentials: from half a second to half a minute, without a limit.
func clientRetry() wait.Backoff {
	const steps = 1 << 30 // more attempts than are ever made
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Cap: 30 * time.Second, Steps: steps}
}

// clients creates the clients of controllers and cloud. The library's builder ends the process if the API server does
// not answer; this one retries until the context ends.
type clients struct {
	cloudprovider.ControllerClientBuilder
	ctx context.Context // the library's interface has none
	// The OrDie methods return these after the context ended. The process is then stopping, and requests fail.
	lastConfig *rest.Config
	lastClient kubernetes.Interface
}

// ConfigOrDie waits for the configuration of the account called name.
func (c clients) ConfigOrDie(name string) *rest.Config {
	config, err := retry(c.ctx, name, c.Config)
	if err != nil {
		return c.lastConfig
	}
	return config
}

// ClientOrDie waits for the client of the account called name.
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
