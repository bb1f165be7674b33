package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// MachineSince returns the machine with the identity from a list at most maxAge old. "Not found" comes only from a
// complete list that began at or after notBefore. A list that failed is not repeated at once, because thousands of
// nodes may request it.
func (i *Inventory) MachineSince(ctx context.Context, id string, maxAge time.Duration,
	notBefore time.Time) (m Machine, found bool, err error) {
	if err, failed := i.machineListFailure.get(""); failed {
		return Machine{}, false, err
	}
	machines, err := i.machines.findSince(ctx, id, maxAge, notBefore)
	switch {
	case err != nil:
		if ctx.Err() == nil { // a cancelled caller says nothing about the cloud
			i.machineListFailure.put("", err)
		}
		return Machine{}, false, err
	case len(machines) == 0:
		return Machine{}, false, nil
	}
	return machines[0], true, nil
}

// findSince is find, but an empty result comes from a list that began at or after notBefore.
func (s *store[T]) findSince(ctx context.Context, key string, maxAge time.Duration, notBefore time.Time) ([]T, error) {
	found, err := s.find(ctx, key, maxAge)
	if err != nil || len(found) > 0 || notBefore.IsZero() {
		return found, err
	}
	return s.find(ctx, key, time.Since(notBefore))
}

// ListedWithSlug returns the machines with the slug from a list at most maxAge old. It causes no other list if there is
// none.
func (i *Inventory) ListedWithSlug(ctx context.Context, slug string, maxAge time.Duration) ([]Machine, error) {
	if err, failed := i.machineListFailure.get(""); failed {
		return nil, err
	}
	return i.machines.find(ctx, slugKey(slug), maxAge)
}

// ErrOtherVPC says that the machine exists in another VPC.
var ErrOtherVPC = errors.New("it is in another VPC")

// newNodeInterval is the minimum interval of lists for new nodes. Otherwise each node that joins would cause a list of
// its own.
const newNodeInterval = time.Second

// waitForListSince waits for a list that began at or after notBefore. A list begins at the earliest an interval after
// the one before.
func (s *store[T]) waitForListSince(ctx context.Context, notBefore time.Time, interval time.Duration) error {
	for {
		made := s.copyTime()
		if !made.Before(notBefore) {
			return nil
		}
		if err := sleep(ctx, interval-time.Since(made)); err != nil {
			return fmt.Errorf("waiting until %s are listed again: %w", s.name, err)
		}
		if err := s.waitUntil(ctx, func() bool { return s.copyBegan.After(made) }); err != nil {
			return err
		}
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	over := time.NewTimer(max(d, 0))
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RequestMachine requests one machine by its identity; it does not use lists. The error for a machine in another VPC is
// ErrOtherVPC.
func (i *Inventory) RequestMachine(ctx context.Context, id string) (m Machine, found bool, err error) {
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
				"cluster's machines", id, i.vpc, ErrOtherVPC, item.VPC.Identity)
	}
	return m, true, nil
}
