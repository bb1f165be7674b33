package manager

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// caches are the informers that controllers and cloud share. They also run on a standby, so that it can take over at
// once.
type caches struct {
	informers.SharedInformerFactory

	mu sync.Mutex
	// unreachable is why the last request did not reach the API server; nil if it did.
	unreachable error
	// refused is the last error of each kind that could not be listed or watched. It is used only while the cache is
	// not filled.
	refused map[string]error
}

// newCaches returns empty caches. Their resync period is between one and two
// times minResync, so that several processes do not resync together.
func newCaches(config *rest.Config, minResync time.Duration) (*caches, error) {
	c := &caches{refused: map[string]error{}}
	config = rest.AddUserAgent(rest.CopyConfig(config), "shared-informers")
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reach{next, c.reached} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up caches: %w", err)
	}
	period := time.Duration(float64(minResync) * (1 + rand.Float64()))
	c.SharedInformerFactory = informers.NewSharedInformerFactoryWithOptions(client, period,
		informers.WithTransform(withoutManagedFields))
	return c, nil
}

// withoutManagedFields drops a field that nothing here reads and that is half of many objects. The API server keeps it
// if such an object is written.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// warm creates an informer before the caches start, and records why it cannot be filled.
func (c *caches) warm(informer cache.SharedIndexInformer) error {
	return informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		c.mu.Lock()
		c.refused[r.TypeDescription()] = err
		c.mu.Unlock()
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
}

func (c *caches) reached(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unreachable = err
}

// synced returns nil when all started caches are filled; it does not wait. A filled cache counts as filled even if the
// API server does not answer any more.
func (c *caches) synced(*http.Request) error {
	now, stop := context.WithCancel(context.Background())
	stop()
	var missing []string
	for kind, synced := range c.WaitForCacheSyncWithContext(now).Synced {
		if !synced {
			missing = append(missing, kind.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return c.explain(missing)
}

func (c *caches) explain(missing []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unreachable != nil {
		return fmt.Errorf("the Kubernetes API cannot be reached: %w", c.unreachable)
	}
	for i, kind := range missing {
		if err := c.refused[kind]; err != nil {
			missing[i] = fmt.Sprintf("%s (%v)", kind, err)
		}
	}
	return fmt.Errorf("not yet read from the Kubernetes API: %s", strings.Join(missing, "; "))
}

// reach records whether requests are answered. Informers do not report most failures of requests.
type reach struct {
	next   http.RoundTripper
	report func(error)
}

// RoundTrip implements http.RoundTripper.
func (r reach) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if request.Context().Err() == nil {
		r.report(err)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the connections below.
func (r reach) WrappedRoundTripper() http.RoundTripper { return r.next }
