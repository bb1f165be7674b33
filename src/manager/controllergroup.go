package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// controllerGroup contains the controllers that run.
type controllerGroup struct {
	endedEarly chan string // names of controllers that ended before their context

	mu      sync.Mutex
	running map[string]<-chan struct{} // closed when the controller has ended
}

// newControllerGroup returns a group of up to size controllers.
func newControllerGroup(size int) *controllerGroup {
	return &controllerGroup{endedEarly: make(chan string, size), running: map[string]<-chan struct{}{}}
}

// contextOf returns the context of a controller: its name is in the lines of its log and in its traces.
func contextOf(ctx context.Context, name string) context.Context {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", name)
	return klog.NewContext(tracing.WithController(ctx, name), logger)
}

// add runs a controller until ctx ends.
func (c *controllerGroup) add(ctx context.Context, name string, l loop) {
	ended := make(chan struct{})
	c.mu.Lock()
	c.running[name] = ended
	c.mu.Unlock()
	go func() {
		defer close(ended)
		l.run(contextOf(ctx, name))
		if ctx.Err() == nil {
			c.endedEarly <- name
		}
	}()
}

// wait returns nil when ctx ends, or an error if a controller ended before.
func (c *controllerGroup) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case name := <-c.endedEarly:
		return fmt.Errorf("%s ended by itself; the log before this line says why", name)
	}
}

// join waits for all controllers. Its error names those that had not ended when
// ctx did.
func (c *controllerGroup) join(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var late []string
	for name, ended := range c.running {
		select {
		case <-ended:
			continue
		default:
		}
		select {
		case <-ended:
		case <-ctx.Done():
			late = append(late, name)
		}
	}
	if len(late) == 0 {
		return nil
	}
	slices.Sort(late)
	return fmt.Errorf("%w: did not end in time: %s", lease.ErrBusy, strings.Join(late, ", "))
}
