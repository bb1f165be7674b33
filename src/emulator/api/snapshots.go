package api

import (
	"strings"

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
	if status := source.Status(c.now); source.At(c.now) == object.Creating ||
		srv.switches.StrictSnapshots && !source.Available(c.now) {
		return reply{}, apierror.Conflict("volume %q is %s; snapshots are made of volumes that are Available",
			source.Identity, status)
	}
	if err := object.CheckFree(&c.org.Snapshots, "snapshot", described.Name, ""); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaSnapshots); err != nil {
		return reply{}, err
	}
	s := &state.VolumeSnapshot{Source: source, Size: source.SizeAt(c.now),
		DeleteProtection: object.Kept(in.DeleteProtection, false),
		Life:             object.Life{ReadyAt: c.now.Add(srv.delays.SnapshotCreate)},
		Record:           object.NewRecord("snap", described, c.org.Snapshots.HasSlug, c.now)}
	c.org.AddSnapshot(s)
	return created(s.Identity, s.View(c.now)), nil
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
		err = object.CheckFree(&c.org.Snapshots, "snapshot", next.Name, s.Identity)
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
	s.Remove(c.now, srv.delays.SnapshotDelete, srv.delays.SnapshotLinger)
	s.Touch(c.now)
	c.org.DepartSnapshot(s)
	c.org.FinishDeletions(c.now)
	return done(s.Identity), nil
}

// snapshotPolicyOperations store policies. Nothing takes their snapshots.
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

func (srv *Server) policyView(p *state.SnapshotPolicy) wire.SnapshotPolicy {
	return p.View(srv.switches.DurationTexts)
}

func (srv *Server) listSnapshotPolicies(c *call) (reply, error) {
	return listed(c, &c.org.SnapshotPolicies, (*state.SnapshotPolicy).Traits, srv.policyView)
}

func (srv *Server) getSnapshotPolicy(c *call) (reply, error) {
	p, err := addressed(c, &c.org.SnapshotPolicies, "snapshot policy")
	if err != nil {
		return reply{}, err
	}
	return one(srv.policyView(p)), nil
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
	if err := object.CheckFree(&c.org.SnapshotPolicies, "snapshot policy", described.Name, ""); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaSnapshotPolicies); err != nil {
		return reply{}, err
	}
	p.Record = object.NewRecord("sp", described, c.org.SnapshotPolicies.HasSlug, c.now)
	c.org.SnapshotPolicies.Add(p)
	return created(p.Identity, srv.policyView(p)), nil
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
	if err := object.CheckFree(&c.org.SnapshotPolicies, "snapshot policy", next.Name, p.Identity); err != nil {
		return reply{}, err
	}
	if err := srv.plan(c, &next, in); err != nil {
		return reply{}, err
	}
	*p = next
	return changed(p.Identity, srv.policyView(p)), nil
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
	switch {
	case p.TTL <= 0:
		return apierror.Invalid("field \"ttl\" must be more than 0, not %s", p.TTL)
	case p.KeepCount != nil && *p.KeepCount < 1:
		return apierror.Invalid("field \"keepCount\" must be at least 1, not %d", *p.KeepCount)
	case len(strings.Fields(p.Schedule)) != cronFields:
		return apierror.Invalid("field \"schedule\" must be a cron expression of %d fields, not %q", cronFields,
			p.Schedule)
	case p.Timezone == "":
		return apierror.Invalid("field \"timezone\" is required")
	}
	return c.checkSnapshotTarget(p.Target)
}

// cronFields are minute, hour, day of the month, month and day of the week.
const cronFields = 5

func (c *call) checkSnapshotTarget(target wire.SnapshotTarget) error {
	switch {
	case target.Type == "selector" && len(target.Selector) == 0:
		return apierror.Invalid("field \"target.selector\" is required")
	case target.Type == "explicit" && len(target.VolumeIdentities) == 0:
		return apierror.Invalid("field \"target.volumeIdentities\" is required")
	case target.Type != "selector" && target.Type != "explicit":
		return apierror.Invalid("field \"target.type\" must be selector or explicit, not %q", target.Type)
	}
	for _, identity := range target.VolumeIdentities {
		if _, err := object.Referred(&c.org.Volumes, "target.volumeIdentities", "volume", identity); err != nil {
			return err
		}
	}
	return nil
}
