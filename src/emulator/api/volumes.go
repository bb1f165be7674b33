package api

import (
	"cmp"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) volumeOperations() map[string]handler {
	const volume = "/v1/volumes/{id}"
	return map[string]handler{
		"GET /v1/volume-types":       srv.listVolumeTypes,
		"GET /v1/volume-types/{id}":  srv.getVolumeType,
		"GET /v1/volumes":            srv.listVolumes,
		"POST /v1/volumes":           srv.createVolume,
		"GET " + volume:              srv.getVolume,
		"PUT " + volume:              srv.updateVolume,
		"DELETE " + volume:           srv.deleteVolume,
		"POST " + volume + "/attach": srv.attachVolume,
		"POST " + volume + "/detach": srv.detachVolume,
	}
}

func (srv *Server) listVolumeTypes(c *call) (reply, error) {
	views := []wire.VolumeType{}
	for t := range srv.Store.VolumeTypes.All() {
		_, slug := t.Key()
		of := func() object.Traits { return object.Named(t.Identity, slug, t.Name) }
		if c.filter.Matches(nil, of) {
			views = append(views, t.VolumeType)
		}
	}
	return many(views), nil
}

func (srv *Server) getVolumeType(c *call) (reply, error) {
	t, found := srv.Store.VolumeTypes.Find(c.PathValue("id"))
	if !found {
		return reply{}, apierror.NotFound("volume type", c.PathValue("id"))
	}
	return one(t.VolumeType), nil
}

// volume finds the volume that the path of a request names.
func (srv *Server) volume(c *call) (*state.Volume, error) {
	v, err := addressed(c, &c.org.Volumes, "volume")
	if err == nil || !srv.switches.VolumesByName {
		return v, err
	}
	for v := range c.org.Volumes.All() {
		if v.Name == c.PathValue("id") {
			return v, nil
		}
	}
	return nil, err
}

// writableVolume is volume for writes: not for a volume that is being deleted.
func (srv *Server) writableVolume(c *call) (*state.Volume, error) {
	v, err := srv.volume(c)
	if err == nil && !v.Active() {
		err = apierror.Conflict("volume %q is being deleted", v.Identity)
	}
	return v, err
}

func (srv *Server) listVolumes(c *call) (reply, error) {
	return listed(c, &c.org.Volumes, func(v *state.Volume) object.Traits { return v.Traits(c.now) },
		func(v *state.Volume) wire.Volume { return v.View(c.now) })
}

func (srv *Server) getVolume(c *call) (reply, error) {
	v, err := srv.volume(c)
	if err != nil {
		return reply{}, err
	}
	return one(v.View(c.now)), nil
}

func (srv *Server) createVolume(c *call) (reply, error) {
	in, err := decode[wire.VolumeInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkNew(srv, &c.org.Volumes, "volume", described); err != nil {
		return reply{}, err
	}
	v := &state.Volume{Org: c.org, Size: in.Size, DeleteProtection: object.Kept(in.DeleteProtection, false),
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.VolumeCreate)}}
	var found bool
	if v.Region, found = srv.Store.Regions.Find(in.CloudRegionIdentity); !found {
		return reply{}, apierror.Invalid("field \"cloudRegionIdentity\": region %q not found", in.CloudRegionIdentity)
	}
	if v.Type, err = srv.Store.VolumeTypeFor("volumeTypeIdentity", in.VolumeTypeIdentity); err != nil {
		return reply{}, err
	}
	if v.RestoredFrom, err = c.restored(v, in.RestoreFromSnapshotID); err != nil {
		return reply{}, err
	}
	if err := c.admitVolume("size", in.Size); err != nil {
		return reply{}, err
	}
	c.addVolume(v, described)
	return created(v.Identity, v.View(c.now)), nil
}

// restored finds the snapshot that a new volume is made from; absent and "" mean none.
func (c *call) restored(v *state.Volume, ref *string) (*state.VolumeSnapshot, error) {
	if object.Kept(ref, "") == "" {
		return nil, nil
	}
	s, err := object.Referred(&c.org.Snapshots, "restoreFromSnapshotId", "snapshot", *ref)
	if err != nil {
		return nil, err
	}
	return s, s.Restorable(v, c.now)
}

// admitVolume reports whether there may be a new volume of a size.
func (c *call) admitVolume(field string, size int) error {
	if err := state.CheckVolumeSize(field, size); err != nil {
		return err
	}
	if err := c.org.Admit(state.QuotaVolumes); err != nil {
		return err
	}
	return c.org.AdmitMore(state.QuotaVolumeSize, size)
}

func (c *call) addVolume(v *state.Volume, described object.Spec) {
	v.Record = object.NewRecord("v", described, c.org.Volumes.HasSlug, c.now)
	c.org.Volumes.Add(v)
}

func (srv *Server) updateVolume(c *call) (reply, error) {
	v, err := srv.writableVolume(c)
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.VolumeInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.Volumes, "volume", v, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	if err := srv.grow(c, v, in.Size); err != nil {
		return reply{}, err
	}
	v.Record, v.DeleteProtection = next, object.Value(srv.rules(), in.DeleteProtection, v.DeleteProtection)
	return changed(v.Identity, v.View(c.now)), nil
}

// grow makes a volume larger. Clients send 0, or the size that they read, when it
// is not to change.
func (srv *Server) grow(c *call, v *state.Volume, size int) error {
	current := v.SizeAt(c.now)
	switch {
	case size == 0 || size == current || size == v.Size:
		return nil
	case current < v.Size:
		return apierror.Conflict("volume %q is being resized from %d to %d GB", v.Identity, current, v.Size)
	case size < v.Size:
		return apierror.Invalid("field \"size\": %d GB is less than the current %d; volumes only grow", size, v.Size)
	case !v.Type.AllowResize:
		return apierror.Invalid("field \"size\": volumes of type %q cannot be resized", v.Type.Name)
	}
	if err := state.CheckVolumeSize("size", size); err != nil {
		return err
	}
	if err := c.org.AdmitMore(state.QuotaVolumeSize, size-v.Size); err != nil {
		return err
	}
	v.Grow(size, c.now, c.now.Add(srv.delays.VolumeResize))
	return nil
}

func (srv *Server) deleteVolume(c *call) (reply, error) {
	v, err := srv.volume(c)
	if err != nil {
		return reply{}, err
	}
	if v.DeleteProtection {
		return reply{}, apierror.Conflict("volume %q is protected from deletion; switch deleteProtection off first",
			v.Identity)
	}
	if a := v.Attachment(c.now); a != nil && v.Active() {
		return reply{}, apierror.Conflict("volume %q is attached to machine %q; detach it first", v.Identity,
			a.Machine.Identity)
	}
	srv.removeVolume(v, c.now)
	return done(v.Identity), nil
}

// removeVolume starts the deletion of a volume.
func (srv *Server) removeVolume(v *state.Volume, now time.Time) {
	if !v.Active() {
		return
	}
	v.Remove(now, srv.delays.VolumeDelete, srv.delays.VolumeLinger)
	v.Touch(now)
	v.Depart()
	v.Org.FinishDeletions(now)
}

// holder reads which machine a volume is to be attached to or detached from.
func (c *call) holder() (wire.VolumeAttachmentInput, error) {
	in, err := decode[wire.VolumeAttachmentInput](c)
	switch {
	case err != nil:
		return in, err
	case in.ResourceType != state.VolumeHolder:
		return in, apierror.Invalid("field \"resourceType\" must be %q, not %q", state.VolumeHolder, in.ResourceType)
	case in.ResourceIdentity == "":
		return in, apierror.Invalid("field \"resourceIdentity\" is required")
	}
	return in, object.CheckDescription(in.Description, object.Lengths{})
}

func (srv *Server) attachVolume(c *call) (reply, error) {
	v, err := srv.writableVolume(c)
	if err != nil {
		return reply{}, err
	}
	in, err := c.holder()
	if err != nil {
		return reply{}, err
	}
	m, found := c.org.Machines.Find(in.ResourceIdentity)
	if !found {
		return reply{}, apierror.NotFound("machine", in.ResourceIdentity)
	}
	if err := c.attachable(v, m); err != nil {
		return reply{}, err
	}
	if err := m.CheckRoom(c.now); err != nil {
		return reply{}, err
	}
	v.Attach(&state.VolumeAttachment{Identity: object.NewIdentity("va"), Description: in.Description,
		CreatedAt: c.now, Machine: m}, c.now.Add(srv.delays.VolumeAttach))
	v.Touch(c.now)
	return changed(v.Identity, v.AttachmentView(c.now)), nil
}

// attachable refuses a volume that a machine cannot use.
func (c *call) attachable(v *state.Volume, m *state.Machine) error {
	if !m.Active() {
		return apierror.Conflict("machine %q is being deleted", m.Identity)
	}
	return c.unused(v, m.Subnet)
}

// unused refuses a volume that a machine of a subnet cannot have now.
func (c *call) unused(v *state.Volume, home *state.Subnet) error {
	if err := v.CheckRegion(home); err != nil {
		return err
	}
	a := v.Attachment(c.now)
	switch {
	case a != nil:
		return apierror.Conflict("volume %q is attached to machine %q; detach it first", v.Identity,
			a.Machine.Identity)
	case !v.Available(c.now):
		return apierror.Conflict("volume %q is %s; it must be Available", v.Identity, v.Status(c.now))
	}
	return nil
}

func (srv *Server) detachVolume(c *call) (reply, error) {
	v, err := srv.writableVolume(c)
	if err != nil {
		return reply{}, err
	}
	in, err := c.holder()
	if err != nil {
		return reply{}, err
	}
	a := v.Attachment(c.now)
	// The machine of an attachment may be gone, see Switches.KeepAttachedVolumes.
	ours := a != nil && (in.ResourceIdentity == a.Machine.Identity || in.ResourceIdentity == a.Machine.Slug)
	_, found := c.org.Machines.Find(in.ResourceIdentity)
	switch {
	case !ours && !found:
		return reply{}, apierror.NotFound("machine", in.ResourceIdentity)
	case !ours:
		return reply{}, apierror.NotAttached("volume %q is not attached to machine %q", v.Identity,
			in.ResourceIdentity)
	case a.Root:
		return reply{}, apierror.Conflict("volume %q is the root volume of machine %q", v.Identity,
			a.Machine.Identity)
	}
	v.Detach(c.now, srv.delays.VolumeDetach)
	return done(v.Identity), nil
}

// releaseVolumes detaches the volumes of a machine that is being deleted. A root
// volume is deleted with it, unless it existed before.
func (srv *Server) releaseVolumes(m *state.Machine, now time.Time) {
	for _, v := range m.Volumes(now, false) {
		if !srv.switches.KeepAttachedVolumes {
			v.Detach(now, srv.delays.VolumeDetach)
		}
	}
	for _, v := range m.Volumes(now, true) {
		if v.Attachment(now).Existed {
			v.Detach(now, srv.delays.VolumeDetach)
			continue
		}
		srv.removeVolume(v, now)
	}
}

// rootVolume is what a new machine boots from: nothing, a volume that exists, or
// a new one.
type rootVolume struct {
	volume  *state.Volume
	spec    object.Spec
	existed bool
}

// rootVolume reads the root volume of a new machine, and finds what it refers to.
func (c *call) rootVolume(in wire.CreateMachine, image *state.Image) (rootVolume, error) {
	// Older clients send an empty one when they do not care.
	root := in.RootVolume
	if root == nil || root.Size == 0 && root.ExistingVolumeRef == "" && root.VolumeTypeIdentity == "" {
		return rootVolume{}, nil
	}
	if root.ExistingVolumeRef != "" {
		if root.Size != 0 {
			if err := state.CheckVolumeSize("rootVolume.size", root.Size); err != nil {
				return rootVolume{}, err
			}
		}
		return c.existingRootVolume(root.ExistingVolumeRef, in.Subnet)
	}
	if err := c.admitVolume("rootVolume.size", root.Size); err != nil {
		return rootVolume{}, err
	}
	kind, err := c.rootVolumeType(root.VolumeTypeIdentity)
	if err != nil {
		return rootVolume{}, err
	}
	spec := object.Spec{Name: cmp.Or(root.Name, in.Name), Description: root.Description, Labels: root.Labels,
		Annotations: root.Annotations}
	if err := object.CheckMeta(spec); err != nil {
		return rootVolume{}, apierror.Invalid("field \"rootVolume\": %v", err)
	}
	return rootVolume{volume: &state.Volume{Org: c.org, Type: kind, Image: image, Size: root.Size}, spec: spec}, nil
}

func (c *call) existingRootVolume(ref, subnet string) (rootVolume, error) {
	v, err := object.Referred(&c.org.Volumes, "rootVolume.existingVolumeRef", "volume", ref)
	if err != nil {
		return rootVolume{}, err
	}
	home, err := object.Referred(&c.org.Subnets, "subnet", "subnet", subnet)
	if err != nil {
		return rootVolume{}, err
	}
	return rootVolume{volume: v, existed: true}, c.unused(v, home)
}

// rootVolumeType resolves a volume type; an empty reference means the first.
func (c *call) rootVolumeType(ref string) (*state.VolumeType, error) {
	if ref == "" {
		for first := range c.org.Store.VolumeTypes.All() {
			return first, nil
		}
	}
	return c.org.Store.VolumeTypeFor("rootVolume.volumeTypeIdentity", ref)
}

// attach gives a new machine its root volume.
func (r rootVolume) attach(c *call, m *state.Machine) {
	v := r.volume
	switch {
	case v == nil:
		return
	case r.existed:
		v.Touch(c.now)
	default:
		v.Region, v.ReadyAt = m.Subnet.VPC.Region, c.now
		c.addVolume(v, r.spec)
	}
	v.Attach(&state.VolumeAttachment{Identity: object.NewIdentity("va"), CreatedAt: c.now, Machine: m, Root: true,
		Existed: r.existed}, m.ReadyAt)
}
