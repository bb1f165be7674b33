package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// TargetMachines returns those of the machines that can receive traffic: that are in the VPC and not being deleted.
// That a machine is missing comes from one list that began after it was first missed, whoever asked for that, and is
// remembered for MachineAge; that one is there may be known for maxAge. Unsure are those that lists lack and of which
// it cannot be found out now whether they are gone. Both are sorted. Nobody may change ids afterwards: most Services
// ask for the same set, which is looked at once.
func (i *Inventory) TargetMachines(ctx context.Context, ids []string,
	maxAge time.Duration) (targets, unsure []string, err error) {
	targets, missing, err := i.siftTargets(ctx, ids, maxAge)
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(missing, func(id string, s sighting[Machine]) bool { return knownAbsent(i.absent, id, s.listed) })
	if len(missing) == 0 {
		return targets, nil, nil
	}
	var since uint64
	for _, s := range missing {
		since = max(since, s.sought)
	}
	if err := i.machines.refreshSince(ctx, Anew, since); err != nil {
		return nil, nil, err
	}
	late, missing, err := i.siftTargets(ctx, slices.Collect(maps.Keys(missing)), maxAge)
	if err != nil {
		return nil, nil, err
	}
	there, unsure, err := i.confirmMissing(ctx, slices.Sorted(maps.Keys(missing)))
	targets = slices.Concat(targets, late, there)
	slices.Sort(targets)
	return targets, unsure, err
}

// mostConfirmed is how many machines that lists lack are asked for one by one. Of more only a few
// are asked for.
const mostConfirmed = 50

const (
	// unanswered is how long a machine is not asked for again that could not be asked for: many Services have it.
	unanswered = 10 * time.Second
	// mostUnanswered is how many machines in a row may fail to be asked for before the others wait for the next time,
	// so that a cloud that does not answer holds nobody up for long.
	mostUnanswered = 2
)

// confirmMissing asks for machines that two lists in a row lack, and returns those that are there nevertheless and can
// receive traffic, and those of which that could not be found out. The others are remembered to be gone.
func (i *Inventory) confirmMissing(ctx context.Context, ids []string) (there, unsure []string, err error) {
	if len(ids) > mostConfirmed {
		unsure, err = i.confirmMany(ctx, ids)
		return nil, unsure, err
	}
	failed := 0
	for _, id := range ids {
		if i.lately(id) {
			continue
		}
		if failed == mostUnanswered || i.unanswered.has(id) {
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

// errUnanswered says that another caller could not ask for the machine a moment ago.
var errUnanswered = errors.New("it could not be asked for a moment ago")

// confirmOne asks for one machine that lists lack. Callers that want the same machine at the same time make one call;
// nobody waits for a call about another one.
func (i *Inventory) confirmOne(ctx context.Context, id string) (machine Machine, found bool, err error) {
	done, err := i.confirming.take(ctx, id)
	if err != nil {
		return Machine{}, false, err
	}
	defer done()
	if i.lately(id) {
		return Machine{}, false, nil
	}
	if i.unanswered.has(id) {
		return Machine{}, false, errUnanswered
	}
	if there, err := i.machines.findNow(ctx, id); err == nil && len(there) > 0 {
		return there[0], true, nil // whoever asked before put it there
	}
	arrived := i.machines.arrive()
	machine, found, err = i.getMachine(ctx, id)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			i.unanswered.note(id)
		}
	case found:
		i.machines.answer(machine, arrived)
	default:
		i.absent.note(id)
	}
	return machine, found, err
}

// lately says that a machine was found to be gone so lately that it is not asked for again.
func (i *Inventory) lately(id string) bool {
	noted, known := i.absent.noted(id)
	return known && time.Since(noted) <= MachineAge
}

// samples is how many of very many machines are asked for that lists lack.
const samples = 5

// confirmMany believes two lists that lack very many machines, unless one of a few of them is there: then both lie,
// which is an error. While none can be asked for, all are unsure.
func (i *Inventory) confirmMany(ctx context.Context, ids []string) (unsure []string, err error) {
	for n := range samples {
		id := ids[n*(len(ids)-1)/(samples-1)]
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
		i.absent.note(id)
	}
	return nil, nil
}

// machineHere says whether it is in the VPC, and there.
func (i *Inventory) machineHere(m machineItem) (Machine, bool) {
	machine := m.object()
	return machine, m.VPC.Identity == i.vpc && !machine.Gone()
}

// labelledHere is machineHere for a machine whose labels are wanted.
func (i *Inventory) labelledHere(m labelledItem) (Machine, bool) {
	machine, here := i.machineHere(m.machineItem)
	maps.DeleteFunc(m.Labels, func(key, _ string) bool {
		return !slices.ContainsFunc(i.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if len(m.Labels) > 0 {
		machine.Labels = m.Labels
	}
	return machine, here
}

// siftTargets returns those of the machines that can receive traffic, and those that are not listed.
func (i *Inventory) siftTargets(ctx context.Context, ids []string,
	maxAge time.Duration) (targets []string, missing map[string]sighting[Machine], err error) {
	if err := i.machines.refresh(ctx, maxAge); err != nil {
		return nil, nil, err
	}
	if i.complete.holds(ids, i.machines.current()) {
		return ids, nil, nil
	}
	missing = map[string]sighting[Machine]{}
	targets = make([]string, 0, len(ids))
	revision := i.machines.each(ids, func(id string, s sighting[Machine]) {
		switch {
		case !s.known:
			missing[id] = s
		case s.object.State != string(iaas.MachineStateDeleting):
			targets = append(targets, id)
		}
	})
	if len(targets) == len(ids) {
		i.complete.note(ids, revision)
		return ids, nil, nil
	}
	return targets, missing, nil
}

// complete is the latest set of machines of which every one could receive traffic. The zero value is ready to use.
type complete struct {
	mu       sync.Mutex
	ids      []string
	revision uint64 // of the machines
}

func (c *complete) note(ids []string, revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids, c.revision = ids, revision
}

// holds says whether it is that very set, and the machines have not changed since. Sets are not compared: one that was
// made anew is looked at anew.
func (c *complete) holds(ids []string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(ids) > 0 && len(ids) == len(c.ids) && &ids[0] == &c.ids[0] && revision == c.revision
}
