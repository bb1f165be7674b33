package api

import (
	"cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) filesystemOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/tfs":         srv.listFilesystems,
		"POST /v1/tfs":        srv.createFilesystem,
		"GET /v1/tfs/{id}":    srv.getFilesystem,
		"PUT /v1/tfs/{id}":    srv.updateFilesystem,
		"DELETE /v1/tfs/{id}": srv.deleteFilesystem,
	}
}

func (c *call) filesystem() (*state.Filesystem, error) {
	f, found := c.org.Filesystems.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("TFS instance", c.PathValue("id"))
	}
	return f, nil
}

func (srv *Server) listFilesystems(c *call) (reply, error) {
	views := []wire.Filesystem{}
	for f := range c.org.Filesystems.All() {
		if c.filter.Matches(f.Labels, f.Traits) {
			views = append(views, f.View(c.now))
		}
	}
	return many(views), nil
}

func (srv *Server) getFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	return one(f.View(c.now)), nil
}

func (srv *Server) createFilesystem(c *call) (reply, error) {
	in, err := decode[wire.FilesystemInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkNew(srv, &c.org.Filesystems, "TFS instance", described); err != nil {
		return reply{}, err
	}
	f := &state.Filesystem{Size: object.Kept(in.Size, 0), DeleteProtection: object.Kept(in.DeleteProtection, false),
		Endpoint: object.NewIdentity("ep")}
	if f.Subnet, err = c.filesystemHome(in); err != nil {
		return reply{}, err
	}
	if err := f.CheckSize(); err != nil {
		return reply{}, err
	}
	groups, err := c.org.SecurityGroupsIn(f.Subnet.VPC, in.SecurityGroupAttachments)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaFilesystems); err != nil {
		return reply{}, err
	}
	if f.Addresses, err = state.TakeAddresses(f.Subnet.Pools); err != nil {
		return reply{}, apierror.Conflict("creating TFS instance %q: %v", described.Name, err)
	}
	f.Record = object.NewRecord("tfs", described, c.org.Filesystems.HasSlug, c.now)
	c.org.Filesystems.Add(f)
	f.Subnet.Users.Add("TFS instance", f.Identity)
	f.SecurityGroups = state.Reattach("TFS instance", f.Identity, nil, groups)
	return created(f.Identity, f.View(c.now)), nil
}

// filesystemHome is the subnet of a new file system; region and VPC must be its.
func (c *call) filesystemHome(in wire.FilesystemInput) (*state.Subnet, error) {
	home, err := object.Referred(&c.org.Subnets, "subnetIdentity", "subnet", in.SubnetIdentity)
	switch {
	case err != nil:
		return nil, err
	case in.VPCIdentity != home.VPC.Identity && in.VPCIdentity != home.VPC.Slug:
		return nil, apierror.Invalid("field \"vpcIdentity\": subnet %q is not in VPC %q", in.SubnetIdentity,
			in.VPCIdentity)
	case in.CloudRegionIdentity != home.VPC.Region.Identity && in.CloudRegionIdentity != home.VPC.Region.Slug:
		return nil, apierror.Invalid("field \"cloudRegionIdentity\": subnet %q is not in region %q", in.SubnetIdentity,
			in.CloudRegionIdentity)
	}
	return home, nil
}

func (srv *Server) updateFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FilesystemInput](c)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(srv.rules(), in.SecurityGroupAttachments, f.SecurityGroups, f.Subnet.VPC)
	if err != nil {
		return reply{}, err
	}
	// The vendor's command line sends 0 for an unchanged size.
	size := cmp.Or(object.Kept(in.Size, 0), f.Size)
	if size < f.Size {
		return reply{}, apierror.Invalid("field \"size\": %d GB is less than the current %d; file systems only grow",
			size, f.Size)
	}
	next, err := revised(srv, c, &c.org.Filesystems, "TFS instance", f, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	f.SecurityGroups = state.Reattach("TFS instance", f.Identity, f.SecurityGroups, groups)
	f.Record, f.Size = next, size
	f.DeleteProtection = object.Value(srv.rules(), in.DeleteProtection, f.DeleteProtection)
	return changed(f.Identity, f.View(c.now)), nil
}

func (srv *Server) deleteFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	if f.DeleteProtection {
		return reply{},
			apierror.Conflict("TFS instance %q is protected from deletion; switch deleteProtection off first",
				f.Identity)
	}
	state.ReleaseAddresses(f.Subnet.Pools, f.Addresses)
	state.Reattach("TFS instance", f.Identity, f.SecurityGroups, nil)
	f.Subnet.Users.Remove("TFS instance", f.Identity)
	c.org.Filesystems.Remove(f)
	return done(f.Identity), nil
}
