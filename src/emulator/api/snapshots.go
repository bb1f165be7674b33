package api

import (
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
	if err := object.CheckFree(&o.Snapshots, "snapshot", described.Name, ""); err != nil {
		return nil, err
	}
	if err := o.Admit(state.QuotaSnapshots); err != nil {
		return nil, err
	}
	s := &state.VolumeSnapshot{Source: source, Size: source.SizeAt(now),
		Life:   object.Life{ReadyAt: now.Add(srv.delays.SnapshotCreate)},
		Record: object.NewRecord("snap", described, o.Snapshots.HasSlug, now)}
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
	srv.removeSnapshot(s, c.now)
	return done(s.Identity), nil
}

func (srv *Server) removeSnapshot(s *state.VolumeSnapshot, now time.Time) {
	s.Remove(now, srv.delays.SnapshotDelete, srv.delays.SnapshotLinger)
	s.Touch(now)
	s.Source.Org.DepartSnapshot(s)
	s.Source.Org.FinishDeletions(now)
}
