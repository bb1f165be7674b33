package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
)

func TestDrainIsBounded(t *testing.T) {
	tests := map[string]struct {
		drain func(context.Context) error
		took  time.Duration
		want  string // "" if the drain succeeds
	}{
		"at once": {func(context.Context) error { return nil }, 0, ""},
		"in time": {func(context.Context) error {
			<-time.After(19 * time.Second)
			return nil
		}, 19 * time.Second, ""},
		"with error": {func(context.Context) error {
			return errors.New("cut")
		}, 0, "still busy: finishing the write in flight: cut"},
		"never": {func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second)
			return nil
		}, minDrainTimeout, "the write in flight did not finish within 20s"},
		"too late": {func(context.Context) error {
			<-time.After(time.Hour)
			return nil
		}, minDrainTimeout, "the write in flight did not finish within 20s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), minDrainTimeout)
				defer cancel()
				defer func() { <-time.After(2 * time.Hour) }() // what is late ends as well
				start := time.Now()
				err := drain(ctx, test.drain, minDrainTimeout)
				if took := time.Since(start); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
				if test.want == "" {
					if err != nil {
						t.Errorf("drain: %v", err)
					}
					return
				}
				if !errors.Is(err, lease.ErrBusy) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want ErrBusy with %q", err, test.want)
				}
			})
		})
	}
}

// ends is a controller that takes its time to end.
func ends(after time.Duration) loop {
	return loop{run: func(ctx context.Context) { <-ctx.Done(); <-time.After(after) }}
}

func TestControllerGroupJoins(t *testing.T) {
	tests := map[string]struct {
		members map[string]loop
		took    time.Duration
		want    string
	}{
		"nobody":  {nil, 0, ""},
		"in time": {map[string]loop{"a": ends(time.Second), "b": ends(2 * time.Second)}, 2 * time.Second, ""},
		"late": {map[string]loop{"a": ends(0), "c": ends(time.Hour), "b": ends(time.Hour)}, minDrainTimeout,
			"did not end in time: b, c"},
		"at the limit": {map[string]loop{"a": ends(minDrainTimeout - 1)}, minDrainTimeout - 1, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				group := newControllerGroup(len(test.members))
				working, stop := context.WithCancel(t.Context())
				for name, member := range test.members {
					group.add(working, name, member)
				}
				stop()
				if err := group.wait(working); err != nil {
					t.Errorf("wait: %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), minDrainTimeout)
				defer cancel()
				defer func() { <-time.After(2 * time.Hour) }() // what is late ends as well
				start := time.Now()
				err := group.join(ctx)
				if took := time.Since(start); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
				if test.want == "" && err != nil {
					t.Errorf("join: %v", err)
				}
				if test.want != "" && (!errors.Is(err, lease.ErrBusy) || !strings.HasSuffix(err.Error(), test.want)) {
					t.Errorf("error %v, want ErrBusy with %q", err, test.want)
				}
			})
		})
	}
}

// TestLogOfAController: each line that a controller logs has its name, with that of the library.
func TestLogOfAController(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
	group, logged := newControllerGroup(1), make(chan struct{})
	group.add(ctx, "service-lb-controller", loop{run: func(ctx context.Context) {
		klog.FromContext(ctx).Info("Load balancer is ready", "service", "shop/web")
		close(logged)
		<-ctx.Done()
	}})
	<-logged
	stop()
	if err := group.join(t.Context()); err != nil {
		t.Error(err)
	}
	text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(text, `controller="service-lb-controller"`) != 1 || !strings.Contains(text, `service="shop/web"`) {
		t.Errorf("the log is\n%s", text)
	}
}

func TestControllerThatEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newControllerGroup(2)
		ctx, stop := context.WithCancel(t.Context())
		group.add(ctx, "good", ends(0))
		group.add(ctx, "bad", loop{run: func(context.Context) {}})
		if err := group.wait(ctx); err == nil || !strings.HasPrefix(err.Error(), "bad ended by itself") {
			t.Errorf("wait returned %v, want an error about the controller", err)
		}
		stop()
		if err := group.join(t.Context()); err != nil {
			t.Errorf("join: %v", err)
		}
	})
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		pause(t.Context(), 0)
		if took := time.Since(start); took != 0 {
			t.Errorf("without an interval it took %s", took)
		}
		pause(t.Context(), time.Minute)
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %s, want between one and two minutes", took)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		start = time.Now()
		pause(ended, time.Minute)
		if took := time.Since(start); took != 0 {
			t.Errorf("after the end it took %s", took)
		}
	})
}

// accounts is a builder of clients that fails for a while.
type accounts struct {
	failures int
	client   kubernetes.Interface
	config   *rest.Config
}

func (a *accounts) fail() error {
	if a.failures == 0 {
		return nil
	}
	a.failures--
	return errors.New("the API is away")
}

func (a *accounts) Config(string) (*rest.Config, error)         { return a.config, a.fail() }
func (a *accounts) Client(string) (kubernetes.Interface, error) { return a.client, a.fail() }
func (a *accounts) ConfigOrDie(string) *rest.Config             { panic("died") }
func (a *accounts) ClientOrDie(string) kubernetes.Interface     { panic("died") }

func TestClientsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, last := fake.NewClientset(), fake.NewClientset()
		builder := &accounts{failures: 3, client: good, config: &rest.Config{Host: "good"}}
		ctx, stop := context.WithCancel(t.Context())
		c := clients{ControllerClientBuilder: builder, ctx: ctx, lastClient: last,
			lastConfig: &rest.Config{Host: "last"}}
		start := time.Now()
		if c.ClientOrDie("a") != kubernetes.Interface(good) {
			t.Error("ClientOrDie returned another client")
		}
		if took := time.Since(start); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("three attempts took %s, want 0.5 s, 1 s and 2 s with some jitter", took)
		}
		builder.failures = 1
		if got := c.ConfigOrDie("a").Host; got != "good" {
			t.Errorf("ConfigOrDie returned the host %q", got)
		}

		builder.failures = -1 // for ever
		go func() {
			<-time.After(24 * time.Hour)
			stop()
		}()
		if c.ClientOrDie("a") != kubernetes.Interface(last) {
			t.Error("after the end ClientOrDie returned another client")
		}
		if got := c.ConfigOrDie("a").Host; got != "last" {
			t.Errorf("after the end ConfigOrDie returned the host %q", got)
		}
		if _, err := c.await("a"); err == nil || !strings.Contains(err.Error(), `getting credentials of "a"`) {
			t.Errorf("after the end await returned %v", err)
		}
	})
}
