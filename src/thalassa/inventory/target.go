package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// TargetMachines returns those of the machines that can receive traffic: those that are in the VPC and not being
// deleted. That a machine is missing comes from a list that began after the first lookup, by any caller, and is cached
// for MachineAge; that a machine exists may be maxAge old. unsure are machines that lists lack, and for which requests
// fail. Both are sorted. ids must not be changed afterwards: they are the result if all of them can receive traffic.
func (i *Inventory) TargetMachines(ctx context.Context, ids []string,
	maxAge time.Duration) (targets, unsure []string, err error) {
	if err := i.machines.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	targets, absent := i.splitTargets(ids)
	i.machines.RecordAbsent(absent, i.machines.BeginRead())
	absent, err = i.machines.RelistAbsent(ctx, absent)
	switch {
	case err != nil:
		return nil, nil, err
	case len(absent) == 0:
		return targets, nil, nil
	}
	if err := i.machines.Refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	late, absent := i.splitTargets(absent)
	i.machines.RecordAbsent(absent, i.machines.BeginRead())
	there, unsure, err := i.confirmAbsent(ctx, slices.Sorted(slices.Values(absent)))
	if len(late)+len(there) > 0 {
		targets = slices.Concat(targets, late, there)
		slices.Sort(targets)
	}
	return targets, unsure, err
}

// splitTargets returns the machines that can receive traffic, and those that lists lack. Those that are being deleted
// are neither.
func (i *Inventory) splitTargets(ids []string) (usable, absent []string) {
	usable = make([]string, 0, len(ids))
	i.machines.Each(ids, func(id string, machine Machine, known bool) {
		switch {
		case !known:
			absent = append(absent, id)
		case machine.State != string(iaas.MachineStateDeleting):
			usable = append(usable, id)
		}
	})
	if len(usable) == len(ids) {
		usable = ids
	}
	return usable, absent
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
		machine, found, err := i.machines.Request(ctx, id)
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
