package container

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// run is an instance that ends by itself after life, or when it is stopped after reacting.
type run struct {
	exit     Exit
	reacting time.Duration
	once     sync.Once
	done     chan struct{}
}

func newRun(life, reacting time.Duration, exit Exit) *run {
	r := &run{exit: exit, reacting: reacting, done: make(chan struct{})}
	if life > 0 {
		go func() {
			select {
			case <-time.After(life):
				r.end(exit)
			case <-r.done:
			}
		}()
	}
	return r
}

func (r *run) end(exit Exit) {
	r.once.Do(func() {
		r.exit = exit
		close(r.done)
	})
}

func (r *run) Done() <-chan struct{} { return r.done }
func (r *run) Exit() Exit            { return r.exit }

func (r *run) Stop(grace time.Duration) {
	select {
	case <-r.done:
	case <-time.After(min(grace, r.reacting)):
		r.end(Exit{Code: map[bool]int32{true: 0, false: 137}[r.reacting <= grace]})
	}
}

// history records what becomes of a container, with the time since the beginning.
type history struct {
	mu     sync.Mutex
	began  time.Time
	states []string
	events []string
}

func (h *history) config(spec *corev1.Container, start func(context.Context) (Instance, error)) Config {
	h.began = time.Now()
	return Config{
		Spec: spec, Pod: "shop/web", Start: start,
		Grace: func() time.Duration { return 30 * time.Second },
		Check: func(context.Context, *corev1.Probe) error { return nil },
		Event: func(_, reason, message string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, fmt.Sprintf("%s %s: %s", time.Since(h.began), reason, message))
		},
		Changed: func() {},
	}
}

// watch makes every change of a container's state part of the history.
func (h *history) watch(c Config) *Container {
	var k *Container
	last := ""
	c.Changed = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if now := describe(k.Status()); now != last {
			h.states = append(h.states, fmt.Sprintf("%s %s", time.Since(h.began), now))
			last = now
		}
	}
	k = New(c)
	return k
}

func describe(s corev1.ContainerStatus) string {
	switch {
	case s.State.Waiting != nil:
		return s.State.Waiting.Reason
	case s.State.Terminated != nil:
		return fmt.Sprintf("terminated %d", s.State.Terminated.ExitCode)
	default:
		return fmt.Sprintf("run %d started %t ready %t", s.RestartCount, *s.Started, s.Ready)
	}
}

func always(life time.Duration, code int32) func(context.Context) (Instance, error) {
	return func(context.Context) (Instance, error) { return newRun(life, 0, Exit{Code: code}), nil }
}

func TestRunRestarts(t *testing.T) {
	for _, code := range []int32{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			h := &history{}
			ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			defer cancel()
			h.watch(h.config(&corev1.Container{Name: "main"}, always(2*time.Second, code))).Run(ctx)
			want := []string{
				"0s ContainerCreating",
				"0s run 0 started true ready true", fmt.Sprintf("2s terminated %d", code),
				"3s run 1 started true ready true", fmt.Sprintf("5s terminated %d", code),
			}
			if diff := cmp.Diff(want, h.states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunStops(t *testing.T) {
	tests := []struct {
		name     string
		reacting time.Duration
		kill     time.Duration
		want     string
	}{
		{"within its grace period", 3 * time.Second, time.Hour, "8s terminated 0"},
		{"after its grace period", time.Minute, time.Hour, "35s terminated 137"},
		{"killed meanwhile", time.Minute, 2 * time.Second, "7s terminated 137"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, kill := &history{}, make(chan struct{})
				c := h.config(&corev1.Container{Name: "main"}, func(context.Context) (Instance, error) {
					return newRun(0, tt.reacting, Exit{}), nil
				})
				c.Kill = kill
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				timer := time.AfterFunc(5*time.Second+tt.kill, func() { close(kill) })
				defer timer.Stop()
				h.watch(c).Run(ctx)
				if got := h.states[len(h.states)-1]; got != tt.want {
					t.Errorf("last state = %q, want %q", got, tt.want)
				}
				if got, want := h.events[len(h.events)-1], "5s Killing: Stopping container main"; got != want {
					t.Errorf("last event = %q, want %q", got, want)
				}
			})
		})
	}
}

func TestRunCannotStart(t *testing.T) {
	tests := []struct {
		name  string
		spec  corev1.Container
		err   error
		state string
		event string
	}{
		{"with a reason", corev1.Container{}, &WaitError{Reason: ReasonCreating, Event: "FailedMount",
			Err: errors.New("no Secret")}, "ContainerCreating: no Secret", "0s FailedMount: no Secret"},
		{"with a wrapped reason", corev1.Container{},
			fmt.Errorf("x: %w", &WaitError{Reason: ReasonConfig, Err: errors.New("y")}),
			"CreateContainerConfigError: x: y", "0s Failed: x: y"},
		{"without", corev1.Container{}, errors.New("no such file"), "RunContainerError: no such file",
			"0s Failed: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, attempts := &history{}, 0
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				k := New(h.config(&tt.spec, func(context.Context) (Instance, error) {
					attempts++
					return nil, tt.err
				}))
				k.Run(ctx)
				waiting := k.Status().State.Waiting
				if waiting == nil || waiting.Reason+": "+waiting.Message != tt.state {
					t.Errorf("state = %+v, want %q", waiting, tt.state)
				}
				if h.events[0] != tt.event || len(h.events) != 6 { // at 0, 1, 3, 7, 15 and 25 s
					t.Errorf("events = %q, want six, the first %q", h.events, tt.event)
				}
			})
		})
	}
}

func TestRunStartsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, attempts := &history{}, 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		h.watch(h.config(&corev1.Container{Name: "main"}, func(context.Context) (Instance, error) {
			if attempts++; attempts < 3 {
				return nil, &WaitError{Reason: ReasonConfig, Err: errors.New("not yet")}
			}
			return newRun(0, 0, Exit{}), nil
		})).Run(ctx)
		want := []string{"0s ContainerCreating", "0s CreateContainerConfigError", "3s run 0 started true ready true",
			"10s terminated 0"}
		if diff := cmp.Diff(want, h.states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}
