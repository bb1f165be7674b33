// Package lease lets one process at a time do the work.
//
// It wraps client-go's leader election with the two things that is silent
// about: the lease is renewed until the work has truly ended, and only then
// given back, so that two processes never write at the same time and a standby
// still goes on at once. client-go can release by itself, but does so before
// the work is stopped, and even when the lease was already lost.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// ErrLost says that the lease was lost while the work was going on. The process
// should end: a fresh one starts from a known state.
var ErrLost = errors.New("lease lost")

// ErrBusy is wrapped by the error of work that ended with something still under
// way. The lease is then not given back but left to expire, which keeps
// successors away for another [Config.Duration].
var ErrBusy = errors.New("still busy")

// ReleaseTimeout bounds giving the lease back. It is spent within the grace
// period of a pod, after the work ended; a lease that could not be given back
// expires by itself.
const ReleaseTimeout = 5 * time.Second

// releaseAttempts bounds the retries after a conflict, which an update that was
// cut off but arrived nevertheless can cause.
const releaseAttempts = 3

// Config describes the lease and how it is kept.
type Config struct {
	// Lock is where the lease is kept, with our identity.
	Lock resourcelock.Interface
	// Name is the value of the label "name" in the metrics of the election.
	Name string
	// Duration is how long others wait after the last renewal they saw.
	Duration time.Duration
	// RenewDeadline is how long renewals may fail before the lease counts as
	// lost. It is shorter than Duration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two attempts.
	RetryPeriod time.Duration
	// Watchdog reports an election that hangs; nil if it is not used.
	Watchdog *leaderelection.HealthzAdaptor
}

// Hold waits for the lease and then runs work, whose context ends when ctx ends
// or when the lease is lost. The lease is kept until work returns and is then
// given back, unless the error of work wraps [ErrBusy].
//
// It returns nil if ctx ended before the lease was won, else the error of work,
// or [ErrLost]. After a loss it waits for work no longer than others are sure
// to stay away: Duration less RenewDeadline.
func Hold(ctx context.Context, cfg Config, work func(context.Context) error) error {
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	won := make(chan struct{})
	elector, err := cfg.elector(func(context.Context) { close(won) })
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()

	select {
	case <-won:
		err = cfg.lead(ctx, ended, work)
	case <-ctx.Done():
	}
	if errors.Is(err, ErrLost) {
		return err
	}
	stopElecting()
	<-ended
	if elector.IsLeader() && !errors.Is(err, ErrBusy) {
		cfg.release(context.WithoutCancel(ctx))
	}
	return err
}

func (c Config) elector(won func(context.Context)) (*leaderelection.LeaderElector, error) {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          c.Lock,
		Name:          c.Name,
		LeaseDuration: c.Duration,
		RenewDeadline: c.RenewDeadline,
		RetryPeriod:   c.RetryPeriod,
		WatchDog:      c.Watchdog,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: won,
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up leader election: %w", err)
	}
	if c.Watchdog != nil {
		c.Watchdog.SetLeaderElection(elector)
	}
	return elector, nil
}

// lead runs work until it returns or until the election ended, which it does by
// itself only when the lease is lost.
func (c Config) lead(ctx context.Context, ended <-chan struct{}, work func(context.Context) error) error {
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	done := make(chan error, 1)
	go func() { done <- work(working) }()

	select {
	case err := <-done:
		return err
	case <-ended:
	}
	stopWorking()
	lost := fmt.Errorf("%w: %s was not renewed within %s, or another process took it",
		ErrLost, c.Lock.Describe(), c.RenewDeadline)
	select {
	case err := <-done:
		return errors.Join(lost, err)
	case <-time.After(c.Duration - c.RenewDeadline):
		return lost
	}
}

// release gives the lease back if it is ours. The caller has stopped the
// election, so nothing else uses the lock.
func (c Config) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ReleaseTimeout)
	defer cancel()
	var err error
	for range releaseAttempts {
		if err = c.tryRelease(ctx); err == nil {
			return
		}
	}
	klog.FromContext(ctx).Error(err, "Could not give the lease back; it expires by itself",
		"lock", c.Lock.Describe(), "after", c.Duration)
}

func (c Config) tryRelease(ctx context.Context) error {
	held, _, err := c.Lock.Get(ctx)
	if err != nil {
		return err
	}
	if held.HolderIdentity != c.Lock.Identity() {
		return nil
	}
	held.HolderIdentity = ""
	held.LeaseDurationSeconds = 1 // the shortest the API accepts
	if err := c.Lock.Update(ctx, *held); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Gave the lease back", "lock", c.Lock.Describe())
	return nil
}
