package api

import (
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) snapshotOperations() map[string]handler {
	const path = "/v1/snapshots"
	return map[string]handler{
		"GET " + path:              srv.listSnapshots,
		"POST " + path:             srv.createSnapshot,
		"GET " + path + "/{id}":    srv.getSnapshot,
		"PUT " + path + "/{id}":    srv.updateSnapshot,
		"DELETE " + path + "/{id}": srv.deleteSnapshot,
	}
}

func (srv *Server) listSnapshots(c *call) (reply, error) {
	return listed(c, &c.org.Snapshots, func(s *state.VolumeSnapshot) object.Traits { return s.Traits(c.now) },
		func(s *state.VolumeSnapshot) wire.Snapshot { return s.View(c.now) })
}

func (srv *Server) getSnapshot(c *call) (reply, error) {
	s, err := addressed(c, &c.org.Snapshots, "snapshot")
	if err != nil {
		return reply{}, err
	}
	return one(s.View(c.now)), nil
}

func (srv *Server) createSnapshot(c *call) (reply, error) {
	in, err := decode[wire.SnapshotInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := object.CheckMeta(described); err != nil {
		return reply{}, err
	}
	source, err := object.Referred(&c.org.Volumes, "volumeIdentity", "volume", in.VolumeIdentity)
	if err != nil {
		return reply{}, err
	}
	s, err := srv.takeSnapshot(source, described, c.now)
	if err != nil {
		return reply{}, err
	}
	s.DeleteProtection = object.Kept(in.DeleteProtection, false)
	return created(s.Identity, s.View(c.now)), nil
}

// takeSnapshot makes a snapshot of a volume, if that is possible now.
func (srv *Server) takeSnapshot(source *state.Volume, described object.Spec, now time.Time) (*state.VolumeSnapshot,
	error) {
	o := source.Org
	if status := source.Status(now); source.At(now) == object.Creating ||
		srv.switches.StrictSnapshots && !source.Available(now) {
		return nil, apierror.Conflict("volume %q is %s; snapshots are made of volumes that are Available",
			source.Identity, status)
	}
	if err := object.CheckFree(&o.Snapshots, object.Lengths{}, "snapshot", described.Name, "", now); err != nil {
		return nil, err
	}
	if err := o.Admit(state.QuotaSnapshots); err != nil {
		return nil, err
	}
	s := &state.VolumeSnapshot{Source: source, Size: source.SizeAt(now),
		Life:   object.Life{ReadyAt: now.Add(srv.delays.SnapshotCreate)},
		Record: object.NewRecord(state.SnapshotPrefix, described, o.Snapshots.HasSlug, now)}
	o.AddSnapshot(s)
	return s, nil
}

func (srv *Server) updateSnapshot(c *call) (reply, error) {
	s, err := writable(c, &c.org.Snapshots, "snapshot")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SnapshotInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.Snapshots, "snapshot", s, in.MetaInput)
	if err == nil {
		err = object.CheckFree(&c.org.Snapshots, object.Lengths{}, "snapshot", next.Name, s.Identity, c.now)
	}
	if err != nil {
		return reply{}, err
	}
	s.Record, s.DeleteProtection = next, object.Value(srv.rules(), in.DeleteProtection, s.DeleteProtection)
	return changed(s.Identity, s.View(c.now)), nil
}

func (srv *Server) deleteSnapshot(c *call) (reply, error) {
	s, err := addressed(c, &c.org.Snapshots, "snapshot")
	switch {
	case err != nil:
		return reply{}, err
	case !s.Active():
		return done(s.Identity), nil
	case s.DeleteProtection:
		return reply{}, apierror.Conflict("snapshot %q is protected from deletion; switch deleteProtection off first",
			s.Identity)
	}
	srv.removeSnapshot(s, c.now)
	return done(s.Identity), nil
}

func (srv *Server) removeSnapshot(s *state.VolumeSnapshot, now time.Time) {
	s.Remove(now, srv.delays.SnapshotDelete, srv.delays.SnapshotLinger)
	s.Touch(now)
	s.Source.Org.DepartSnapshot(s)
	s.Source.Org.FinishDeletions(now)
}

func (srv *Server) snapshotPolicyOperations() map[string]handler {
	const path = "/v1/snapshot-policies"
	return map[string]handler{
		"GET " + path:              srv.listSnapshotPolicies,
		"POST " + path:             srv.createSnapshotPolicy,
		"GET " + path + "/{id}":    srv.getSnapshotPolicy,
		"PUT " + path + "/{id}":    srv.updateSnapshotPolicy,
		"DELETE " + path + "/{id}": srv.deleteSnapshotPolicy,
	}
}

func (srv *Server) listSnapshotPolicies(c *call) (reply, error) {
	return listed(c, &c.org.SnapshotPolicies, (*state.SnapshotPolicy).Traits,
		func(p *state.SnapshotPolicy) wire.SnapshotPolicy { return p.View(c.now) })
}

func (srv *Server) getSnapshotPolicy(c *call) (reply, error) {
	p, err := addressed(c, &c.org.SnapshotPolicies, "snapshot policy")
	if err != nil {
		return reply{}, err
	}
	return one(p.View(c.now)), nil
}

func (srv *Server) createSnapshotPolicy(c *call) (reply, error) {
	in, err := decode[wire.SnapshotPolicyInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := object.CheckMeta(described); err != nil {
		return reply{}, err
	}
	p := &state.SnapshotPolicy{Org: c.org}
	var found bool
	if p.Region, found = srv.Store.Regions.Find(in.Region); !found {
		return reply{}, apierror.Invalid("field \"region\": region %q not found", in.Region)
	}
	if err := srv.plan(c, p, in); err != nil {
		return reply{}, err
	}
	if err := object.CheckFree(&c.org.SnapshotPolicies, object.Lengths{}, "snapshot policy", described.Name, "",
		c.now); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaSnapshotPolicies); err != nil {
		return reply{}, err
	}
	p.Record = object.NewRecord("sp", described, c.org.SnapshotPolicies.HasSlug, c.now)
	c.org.SnapshotPolicies.Add(p)
	return created(p.Identity, p.View(c.now)), nil
}

func (srv *Server) updateSnapshotPolicy(c *call) (reply, error) {
	p, err := addressed(c, &c.org.SnapshotPolicies, "snapshot policy")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SnapshotPolicyInput](c)
	if err != nil {
		return reply{}, err
	}
	next := *p
	if next.Record, err = revised(srv, c, &c.org.SnapshotPolicies, "snapshot policy", p, in.MetaInput); err != nil {
		return reply{}, err
	}
	if err := object.CheckFree(&c.org.SnapshotPolicies, object.Lengths{}, "snapshot policy", next.Name,
		p.Identity, c.now); err != nil {
		return reply{}, err
	}
	if err := srv.plan(c, &next, in); err != nil {
		return reply{}, err
	}
	*p = next
	return changed(p.Identity, p.View(c.now)), nil
}

func (srv *Server) deleteSnapshotPolicy(c *call) (reply, error) {
	p, err := addressed(c, &c.org.SnapshotPolicies, "snapshot policy")
	if err != nil {
		return reply{}, err
	}
	c.org.SnapshotPolicies.Remove(p)
	return done(p.Identity), nil
}

// plan applies and checks what a policy is to do. What every policy has is kept
// when a request leaves it out.
func (srv *Server) plan(c *call, p *state.SnapshotPolicy, in wire.SnapshotPolicyInput) error {
	ttl := object.Kept(in.TTL, wire.Duration{Duration: p.TTL})
	p.TTL = ttl.Duration
	p.Schedule, p.Timezone = object.Kept(in.Schedule, p.Schedule), object.Kept(in.Timezone, p.Timezone)
	p.Target = object.Kept(in.Target, p.Target)
	p.Enabled = object.Value(srv.rules(), in.Enabled, p.Enabled)
	p.KeepCount = object.Optional(srv.rules(), in.KeepCount, p.KeepCount)
	return p.Check(c.now)
}

// runPolicies takes the snapshots that are due at a time. The store is locked.
func (srv *Server) runPolicies(at time.Time) {
	for org := range srv.Store.Spaces() {
		for p := range org.SnapshotPolicies.All() {
			if due, found := p.Due(); found && !due.After(at) {
				srv.runPolicy(p, at)
			}
		}
	}
}

// runPolicy takes a snapshot of each volume that a policy is for, and deletes the snapshots that it keeps no longer.
func (srv *Server) runPolicy(p *state.SnapshotPolicy, at time.Time) {
	taken := false
	for _, v := range p.Volumes() {
		identity := object.NewIdentity(state.SnapshotPrefix)
		s, err := srv.takeSnapshot(v, object.Spec{Identity: identity, Name: policySnapshotName(p, identity)}, at)
		if err != nil {
			srv.logger.Warn("a snapshot policy took no snapshot of a volume", "policy", p.Identity, "volume",
				v.Identity, "error", err)
			continue
		}
		s.Policy, taken = p.Identity, true
	}
	for _, s := range p.Outdated(at) {
		srv.removeSnapshot(s, at)
	}
	p.Ran(at, taken)
	srv.Events.Changed()
}

// policySnapshotName is unique, because it ends like an identity. Names of objects have at most 62 characters.
func policySnapshotName(p *state.SnapshotPolicy, identity string) string {
	const most = 40
	return p.Slug[:min(len(p.Slug), most)] + strings.TrimPrefix(identity, state.SnapshotPrefix)
}
