package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// MachineSince returns the machine with that identity from a list at most maxAge old. That there is none comes only
// from a complete list that began at or after notBefore. A list that failed is not asked for again for a moment:
// thousands of nodes may ask in a row.
func (i *Inventory) MachineSince(ctx context.Context, id string, maxAge time.Duration,
	notBefore time.Time) (m Machine, found bool, err error) {
	if err := i.lookFailure.recent(); err != nil {
		return Machine{}, false, err
	}
	machines, err := i.machines.findSince(ctx, id, maxAge, notBefore)
	switch {
	case err != nil:
		if ctx.Err() == nil { // the caller's impatience says nothing about the cloud
			i.lookFailure.note(err)
		}
		return Machine{}, false, err
	case len(machines) == 0:
		return Machine{}, false, nil
	}
	return machines[0], true, nil
}

// findSince is find, but that there is nothing comes from a list that began at or after notBefore.
func (k *kind[T]) findSince(ctx context.Context, key string, maxAge time.Duration, notBefore time.Time) ([]T, error) {
	found, err := k.find(ctx, key, maxAge)
	if err != nil || len(found) > 0 || notBefore.IsZero() {
		return found, err
	}
	return k.find(ctx, key, time.Since(notBefore))
}

// ListedWithSlug returns the machines with that slug from a list at most maxAge old, without another list when there is
// none.
func (i *Inventory) ListedWithSlug(ctx context.Context, slug string, maxAge time.Duration) ([]Machine, error) {
	if err := i.lookFailure.recent(); err != nil {
		return nil, err
	}
	return i.machines.find(ctx, slugKey(slug), maxAge)
}

// ErrElsewhere says of a machine that it exists in another VPC.
var ErrElsewhere = errors.New("it is in another VPC")

// newcomerInterval bounds how often machines are listed because a new node came: of those that join within seconds each
// would want a list of its own.
const newcomerInterval = time.Second

// since returns once the copy is made of a list that began at or after notBefore, and begins one no sooner than
// interval after the one before.
func (k *kind[T]) since(ctx context.Context, notBefore time.Time, interval time.Duration) error {
	for {
		made := k.madeAt()
		if !made.Before(notBefore) {
			return nil
		}
		if err := rest(ctx, interval-time.Since(made)); err != nil {
			return fmt.Errorf("waiting until %s are listed again: %w", k.name, err)
		}
		if err := k.await(ctx, func() bool { return k.made.After(made) }); err != nil {
			return err
		}
	}
}

// rest returns after a while.
func rest(ctx context.Context, d time.Duration) error {
	over := time.NewTimer(max(d, 0))
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AskMachine asks the cloud for one machine by its identity, whatever lists say. That there is none is what the cloud
// says of exactly that machine; the error is ErrElsewhere for one in another VPC.
func (i *Inventory) AskMachine(ctx context.Context, id string) (m Machine, found bool, err error) {
	item, exists, err := getOne(ctx, i.cloud, iaas.MachineEndpoint, id, func(m machineItem) (machineItem, bool) {
		return m, true
	})
	if err != nil || !exists {
		return Machine{}, false, err
	}
	m = item.object()
	switch {
	case m.Gone():
		return m, false, nil
	case item.VPC.Identity == "":
		return Machine{}, false, fmt.Errorf("machine %s: %w: the answer contains no VPC; it is retried "+
			"automatically; if the problem persists, ask the cloud's support", id, client.ErrMalformed)
	case item.VPC.Identity != i.vpc:
		return Machine{}, false,
			fmt.Errorf("machine %s of VPC %s: %w, %s; set vpcIdentity in the cloud-config to the VPC of the "+
				"cluster's machines", id, i.vpc, ErrElsewhere, item.VPC.Identity)
	}
	return m, true, nil
}

// failureMemory is for how long a list that failed is not asked for again: the client has tried several times already.
const failureMemory = 10 * time.Second

// failure is the latest one, for a moment. The zero value is none.
type failure struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

func (f *failure) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.err = time.Now(), err
}

// recent is the latest failure if it was just now.
func (f *failure) recent() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || time.Since(f.at) >= failureMemory {
		return nil
	}
	return f.err
}
