package state

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/schedule"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// SnapshotPolicy says of which volumes there are to be snapshots, and when.
type SnapshotPolicy struct {
	object.Record
	Org    *Organisation
	Region *region
	wire.SnapshotPlan
	TTL   time.Duration
	times schedule.Schedule
	// next is when the next snapshots are taken if the policy is enabled, or zero. last is when the latest was taken.
	next, last time.Time
}

// Plan makes the times of the policy those of its schedule after now.
func (p *SnapshotPolicy) Plan(now time.Time) (err error) {
	if p.times, err = schedule.Parse(p.Schedule, p.Timezone); err == nil {
		p.next = p.times.Next(now)
	}
	return err
}

// Due is when the next snapshots are taken, if there is such a time.
func (p *SnapshotPolicy) Due() (at time.Time, found bool) {
	return p.next, p.Enabled && !p.next.IsZero()
}

// Ran records that the snapshots of a time were taken, or that there were none to take.
func (p *SnapshotPolicy) Ran(at time.Time, taken bool) {
	p.next = p.times.Next(at)
	if taken {
		p.last = at
	}
}

// Volumes are those that the policy takes snapshots of.
func (p *SnapshotPolicy) Volumes() (all []*Volume) {
	for v := range p.Org.Volumes.All() {
		named := slices.Contains(p.Target.VolumeIdentities, v.Identity) ||
			slices.Contains(p.Target.VolumeIdentities, v.Slug)
		if v.Region == p.Region && v.Active() && (p.Target.Type == wire.TargetExplicit && named ||
			p.Target.Type == wire.TargetSelector && object.Subset(p.Target.Selector, v.Labels)) {
			all = append(all, v)
		}
	}
	return all
}

// Outdated are the snapshots that the policy keeps no longer: those as old as its TTL, and the oldest of each volume
// beyond its count.
func (p *SnapshotPolicy) Outdated(now time.Time) (outdated []*VolumeSnapshot) {
	newer := map[*Volume]int{}
	for _, s := range slices.Backward(p.snapshots()) {
		if !s.Active() {
			continue
		}
		tooMany := p.KeepCount != nil && newer[s.Source] >= *p.KeepCount
		if newer[s.Source]++; !s.DeleteProtection && (tooMany || now.Sub(s.CreatedAt) >= p.TTL) {
			outdated = append(outdated, s)
		}
	}
	return outdated
}

// snapshots are those that the policy took, oldest first.
func (p *SnapshotPolicy) snapshots() (taken []*VolumeSnapshot) {
	for s := range p.Org.Snapshots.All() {
		if s.Policy == p.Identity {
			taken = append(taken, s)
		}
	}
	return taken
}

// Short is the policy inside a snapshot.
func (p *SnapshotPolicy) Short() *wire.SnapshotPolicy {
	view := &wire.SnapshotPolicy{Meta: p.Meta, Region: p.Region.Short(), Organisation: p.Org.Short(),
		SnapshotPlan: p.SnapshotPlan, TTL: int64(p.TTL)}
	if p.Org.Store.Switches.DurationTexts {
		view.TTL = p.TTL.String()
	}
	if at, found := p.Due(); found {
		view.NextSnapshotAt = &at
	}
	if last := p.last; !last.IsZero() {
		view.LastSnapshotAt = &last
	}
	return view
}

// View is the policy as the API describes it.
func (p *SnapshotPolicy) View(now time.Time) wire.SnapshotPolicy {
	view := *p.Short()
	for _, s := range p.snapshots() {
		view.Snapshots = append(view.Snapshots, *s.Short(now))
	}
	return view
}

// Traits are the values of the policy that filters of lists can name.
func (p *SnapshotPolicy) Traits() object.Traits {
	return p.Record.Traits().Reference("region", &p.Region.Record)
}

// describe is the policy in a seed.
func (p *SnapshotPolicy) describe() seed.SnapshotPolicy {
	next, _ := p.Due()
	return seed.SnapshotPolicy{Object: seed.Described(p.Meta), Region: p.Region.Identity,
		Plan: seed.JSON[wire.SnapshotPlan]{Value: p.SnapshotPlan}, TTL: p.TTL, NextAt: next, LastAt: p.last}
}

// seedSnapshotPolicy adds a policy of a seed. If times of its schedule have passed since the seed was written, snapshots
// are taken once, now.
func (o *Organisation) seedSnapshotPolicy(in *seed.SnapshotPolicy, now time.Time) error {
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	p := &SnapshotPolicy{Org: o, Region: home, SnapshotPlan: in.Plan.Value, TTL: in.TTL, last: in.LastAt,
		Record: recorded("sp", in.Object, o.SnapshotPolicies.HasSlug, now)}
	// A state can be from an emulator that accepted any schedule.
	if err := p.Plan(now); err != nil && !o.Store.restoring {
		return err
	}
	if !in.NextAt.IsZero() && in.NextAt.Before(now) && !p.next.IsZero() {
		p.next = now
	}
	return object.Insert(&o.SnapshotPolicies, p)
}
