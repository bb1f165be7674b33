package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	"go.opentelemetry.io/otel/trace"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TargetMachines returns those of the machines that can receive traffic: those that are in the VPC and not being
// deleted. That a machine is missing comes from a list that began after the first lookup, by any caller, and is cached
// for MachineAge; that a machine exists may be maxAge old. unsure are machines that lists lack, and for which requests
// fail. Both are sorted. ids must not be changed afterwards: most Services pass the same set, which is checked once.
func (i *Inventory) TargetMachines(ctx context.Context, ids []string,
	maxAge time.Duration) (targets, unsure []string, err error) {
	if err := i.machines.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	known := i.lastSplit.Load()
	if !known.holds(ids, i.machines.CurrentRevision()) {
		known = i.splitTargets(ids)
		i.lastSplit.Store(known)
	}
	targets = known.usable
	absent, err := i.relistAbsent(ctx, known.absent)
	switch {
	case err != nil:
		return nil, nil, err
	case len(absent) == 0:
		return targets, nil, nil
	}
	if err := i.machines.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	late := i.splitTargets(absent)
	i.machines.RecordAbsent(late.absent, i.machines.BeginRead())
	there, unsure, err := i.confirmAbsent(ctx, slices.Sorted(slices.Values(late.absent)))
	if len(late.usable)+len(there) > 0 {
		targets = slices.Concat(targets, late.usable, there)
		slices.Sort(targets)
	}
	return targets, unsure, err
}

// relistAbsent records that lists lack machines, and returns those that a later list may contain.
func (i *Inventory) relistAbsent(ctx context.Context, absent []string) ([]string, error) {
	if len(absent) == 0 {
		return nil, nil
	}
	i.machines.RecordAbsent(absent, i.machines.BeginRead())
	return i.machines.RelistAbsent(ctx, absent)
}

// maxSingleRequests is the maximum number of machines that lists lack and that are all requested by identity. If there
// are more, a sample is requested.
const maxSingleRequests = 50

const (
	// unansweredTTL is how long a machine is not requested again after a request failed, because many Services have it.
	unansweredTTL = 10 * time.Second
	// maxUnanswered is how many requests in a row may fail before the others wait for the next reconciliation, so that
	// a cloud that does not answer does not block callers for long.
	maxUnanswered = 2
)

// confirmAbsent requests machines that two lists in a row lack. It returns those that exist and can receive traffic,
// and those whose requests failed. The others are added to the negative cache.
func (i *Inventory) confirmAbsent(ctx context.Context, ids []string) (there, unsure []string, err error) {
	if len(ids) > maxSingleRequests {
		unsure, err = i.confirmMany(ctx, ids)
		return nil, unsure, err
	}
	failed := 0
	for _, id := range ids {
		if i.machines.RecentlyAbsent(id) {
			continue
		}
		if _, unanswered := i.unansweredMachines.Get(id); unanswered || failed == maxUnanswered {
			unsure = append(unsure, id)
			continue
		}
		machine, found, err := i.confirmOne(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil:
			failed++
			unsure = append(unsure, id)
			continue
		case found && machine.State != string(iaas.MachineStateDeleting):
			there = append(there, id)
		}
		failed = 0
	}
	return there, unsure, nil
}

// confirmation is the answer about one machine.
type confirmation struct {
	machine Machine
	found   bool
	item    trace.SpanContext // that requested it
}

// confirmOne requests one machine that lists lack. Concurrent callers for the same machine make one call; callers for
// other machines do not wait.
func (i *Inventory) confirmOne(ctx context.Context, id string) (machine Machine, found bool, err error) {
	answered := i.confirmations.DoChan(id, func() (any, error) {
		requested, err := i.requestAbsent(context.WithoutCancel(ctx), id)
		requested.item = trace.SpanContextFromContext(ctx)
		return requested, err
	})
	select {
	case <-ctx.Done():
		return Machine{}, false, ctx.Err()
	case result := <-answered:
		answer := result.Val.(confirmation)
		tracing.Link(ctx, answer.item)
		return answer.machine, answer.found, result.Err
	}
}

// requestAbsent requests one machine that lists lack, unless that was done recently, and stores the answer.
func (i *Inventory) requestAbsent(ctx context.Context, id string) (confirmation, error) {
	if i.machines.RecentlyAbsent(id) {
		return confirmation{}, nil
	}
	if err, unanswered := i.unansweredMachines.Get(id); unanswered {
		return confirmation{}, err
	}
	if there, err := i.machines.FindNow(ctx, id); err == nil && len(there) > 0 {
		return confirmation{machine: there[0], found: true}, nil
	}
	readNumber := i.machines.BeginRead()
	machine, found, err := i.getMachine(ctx, id)
	switch {
	case err != nil:
		i.unansweredMachines.Put(id, err)
	case found:
		i.machines.PutFetched(machine, readNumber)
	default:
		i.machines.AddAbsent(id)
	}
	return confirmation{machine: machine, found: found}, err
}

// sampleSize is the size of the sample.
const sampleSize = 5

// confirmMany accepts that two lists lack very many machines, unless a machine of the sample exists: then the lists are
// wrong, which is an error. If the requests fail, all machines are unsure.
func (i *Inventory) confirmMany(ctx context.Context, ids []string) (unsure []string, err error) {
	for n := range sampleSize {
		id := ids[n*(len(ids)-1)/(sampleSize-1)]
		_, found, err := i.getMachine(ctx, id)
		if err != nil {
			return ids, ctx.Err()
		}
		if found {
			return nil, fmt.Errorf("listing machines: %w: the list lacks %d machines that are needed, although %s of "+
				"them exists; it is retried automatically; if the problem persists, ask the cloud's support",
				client.ErrMalformed, len(ids), id)
		}
	}
	for _, id := range ids {
		i.machines.AddAbsent(id)
	}
	return nil, nil
}

// splitTargets divides the machines.
func (i *Inventory) splitTargets(ids []string) *targetSplit {
	split := &targetSplit{ids: ids, usable: make([]string, 0, len(ids))}
	split.revision = i.machines.Each(ids, func(id string, machine Machine, known bool) {
		switch {
		case !known:
			split.absent = append(split.absent, id)
		case machine.State != string(iaas.MachineStateDeleting):
			split.usable = append(split.usable, id)
		}
	})
	if len(split.usable) == len(ids) {
		split.usable = ids
	}
	return split
}

// targetSplit is machines, divided into those that can receive traffic, those that lists lack, and those that are being
// deleted, which no list of it contains.
type targetSplit struct {
	ids, usable, absent []string
	revision            uint64 // of the machines
}

// holds reports whether it is of the same slice and the machines have not changed since. Elements are not compared: an
// equal set in another slice is checked again.
func (c *targetSplit) holds(ids []string, revision uint64) bool {
	return c != nil && len(ids) > 0 && len(ids) == len(c.ids) && &ids[0] == &c.ids[0] && revision == c.revision
}
