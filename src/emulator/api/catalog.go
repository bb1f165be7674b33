package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) cloudInitOperations() map[string]handler {
	const path = "/v1/cloudinits"
	return map[string]handler{
		"GET " + path:              srv.listCloudInits,
		"POST " + path:             srv.createCloudInit,
		"GET " + path + "/{id}":    srv.getCloudInit,
		"PUT " + path + "/{id}":    srv.updateCloudInit,
		"DELETE " + path + "/{id}": srv.deleteCloudInit,
	}
}

func (c *call) cloudInit() (*state.CloudInit, error) {
	t, found := c.org.CloudInits.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("cloud-init template", c.PathValue("id"))
	}
	return t, nil
}

func (srv *Server) listCloudInits(c *call) (reply, error) {
	views := []wire.CloudInit{}
	for t := range c.org.CloudInits.All() {
		if c.filter.Matches(t.Labels, t.Traits) {
			views = append(views, t.View())
		}
	}
	return many(views), nil
}

func (srv *Server) getCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	return one(t.View()), nil
}

func (srv *Server) createCloudInit(c *call) (reply, error) {
	in, err := decode[wire.CloudInitInput](c)
	if err != nil {
		return reply{}, err
	}
	described := object.Spec{Name: object.Kept(in.Name, ""), Labels: in.Labels, Annotations: in.Annotations}
	if err := checkNew(srv, &c.org.CloudInits, "cloud-init template", described); err != nil {
		return reply{}, err
	}
	t := &state.CloudInit{Content: object.Kept(in.Content, "")}
	if err := t.Check(); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaCloudInits); err != nil {
		return reply{}, err
	}
	t.Record = object.NewRecord("ci", described, c.org.CloudInits.HasSlug, c.now)
	c.org.CloudInits.Add(t)
	return created(t.Identity, t.View()), nil
}

func (srv *Server) updateCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.CloudInitInput](c)
	if err != nil {
		return reply{}, err
	}
	draft := state.CloudInit{Content: object.Value(srv.rules(), in.Content, t.Content)}
	if err := draft.Check(); err != nil {
		return reply{}, err
	}
	meta := wire.MetaInput{Name: in.Name, Labels: in.Labels, Annotations: in.Annotations}
	next, err := revised(srv, c, &c.org.CloudInits, "cloud-init template", t, meta)
	if err != nil {
		return reply{}, err
	}
	t.Record, t.Content = next, draft.Content
	return changed(t.Identity, t.View()), nil
}

func (srv *Server) deleteCloudInit(c *call) (reply, error) {
	t, err := c.cloudInit()
	if err != nil {
		return reply{}, err
	}
	c.org.CloudInits.Remove(t)
	return done(t.Identity), nil
}

func (srv *Server) imageOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/images":      srv.listImages,
		"GET /v1/images/{id}": srv.getImage,
	}
}

func (srv *Server) listImages(c *call) (reply, error) {
	views := []wire.MachineImage{}
	for i := range srv.Store.Images.All() {
		if c.filter.Matches(i.Labels, func() object.Traits { return object.Named(i.Identity, i.Slug, i.Name) }) {
			views = append(views, i.MachineImage)
		}
	}
	return many(views), nil
}

func (srv *Server) getImage(c *call) (reply, error) {
	i, found := srv.Store.Images.Find(c.PathValue("id"))
	if !found {
		return reply{}, apierror.NotFound("machine image", c.PathValue("id"))
	}
	return one(i.MachineImage), nil
}

func (srv *Server) listMemberships(c *call) (reply, error) {
	views := []wire.Membership{}
	for _, access := range c.user.Organisations {
		org, _ := srv.Store.Organisations.Exact(access.Identity)
		views = append(views, wire.Membership{
			Identity: "om-" + org.Identity, CreatedAt: org.CreatedAt, Organisation: org.Short(), Role: "OWNER",
			User: &wire.User{Subject: c.user.Subject, Name: c.user.Subject, CreatedAt: org.CreatedAt},
		})
	}
	return many(views), nil
}

func (srv *Server) listRegions(c *call) (reply, error) {
	views := []wire.Region{}
	for r := range srv.Store.Regions.All() {
		// A client that checks its credentials requests regions by "region".
		if c.filter.Matches(r.Labels, func() object.Traits { return r.Traits().Reference("region", &r.Record) }) {
			views = append(views, r.View())
		}
	}
	return many(views), nil
}

func (srv *Server) getRegion(c *call) (reply, error) {
	r, found := srv.Store.Regions.Find(c.PathValue("id"))
	if !found {
		return reply{}, apierror.NotFound("region", c.PathValue("id"))
	}
	return one(r.View()), nil
}

func (srv *Server) listMachineTypes(c *call) (reply, error) {
	views := []wire.MachineType{}
	for t := range srv.Store.MachineTypes.All() {
		of := func() object.Traits { return object.Named(t.Identity, t.Slug, t.Name) }
		if c.filter.Matches(nil, of) {
			views = append(views, t.MachineType)
		}
	}
	return many(views), nil
}

func (srv *Server) listMachineTypeCategories(*call) (reply, error) {
	all := wire.MachineTypeCategory{Name: "General purpose", MachineTypes: []wire.MachineType{}}
	for t := range srv.Store.MachineTypes.All() {
		all.MachineTypes = append(all.MachineTypes, t.MachineType)
	}
	return many([]wire.MachineTypeCategory{all}), nil
}

func (srv *Server) getMachineType(c *call) (reply, error) {
	t, found := srv.Store.MachineTypes.Find(c.PathValue("id"))
	if !found {
		return reply{}, apierror.NotFound("machine type", c.PathValue("id"))
	}
	return one(t.MachineType), nil
}
