package emulator

import (
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// statusAvailable starts with a capital letter, unlike the statuses of networks.
const statusAvailable = "Available"

// filesystem is an instance of the NFS service. It has an address, on which
// nothing answers.
type filesystem struct {
	meta
	subnet           *subnet
	endpoint         string
	addresses        []netip.Addr
	size             int
	deleteProtection bool
	securityGroups   []*securityGroup
}

func (e *Emulator) filesystemOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/tfs":         e.listFilesystems,
		"POST /v1/tfs":        e.createFilesystem,
		"GET /v1/tfs/{id}":    e.getFilesystem,
		"PUT /v1/tfs/{id}":    e.updateFilesystem,
		"DELETE /v1/tfs/{id}": e.deleteFilesystem,
	}
}

func (f *filesystem) view(now time.Time) wire.Filesystem {
	v := f.subnet.vpc
	view := wire.Filesystem{
		Meta: f.Meta, Region: v.region.short(), Organisation: v.org.short(), VPC: v.short(), Subnet: f.subnet.short(),
		Size: f.size, DeleteProtection: f.deleteProtection, Status: statusAvailable, LastStatusChangedAt: &f.CreatedAt,
	}
	view.SecurityGroups = securityGroupViews(f.securityGroups, now)
	for _, addr := range f.addresses {
		kind := "IPv4"
		if addr.Is6() {
			kind = "IPv6"
		}
		view.Endpoints = append(view.Endpoints, wire.Endpoint{
			Identity: f.endpoint, Name: f.Name, CreatedAt: f.CreatedAt, EndpointAddress: addr.String(),
			EndpointAddressType: kind, EndpointType: "vpc", ResourceType: "tfs_instance", ResourceIdentity: f.Identity,
		})
	}
	return view
}

func (f *filesystem) traits() traits {
	return f.meta.traits().reference("subnet", &f.subnet.meta).reference("vpc", &f.subnet.vpc.meta).
		reference("region", &f.subnet.vpc.region.meta).with("status", statusAvailable)
}

func (c *call) filesystem() (*filesystem, error) {
	f, found := c.org.filesystems.find(c.PathValue("id"))
	if !found {
		return nil, notFound("TFS instance", c.PathValue("id"))
	}
	return f, nil
}

func (e *Emulator) listFilesystems(c *call) (reply, error) {
	views := []wire.Filesystem{}
	for f := range c.org.filesystems.all() {
		if c.filter.matches(f.Labels, f.traits) {
			views = append(views, f.view(c.now))
		}
	}
	return many(views), nil
}

func (e *Emulator) getFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	return one(f.view(c.now)), nil
}

func (e *Emulator) createFilesystem(c *call) (reply, error) {
	in, err := decode[wire.FilesystemInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkMeta(described); err != nil {
		return reply{}, err
	}
	f := &filesystem{size: kept(in.Size, 0), deleteProtection: kept(in.DeleteProtection, false), endpoint: newIdentity("ep")}
	if f.subnet, err = c.filesystemHome(in); err != nil {
		return reply{}, err
	}
	if f.size < 1 {
		return reply{}, invalid("field \"size\" must be at least 1 GB, not %d", f.size)
	}
	groups, err := c.org.securityGroupsIn(f.subnet.vpc, in.SecurityGroupAttachments)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaFilesystems); err != nil {
		return reply{}, err
	}
	if f.addresses, err = takeAddresses(f.subnet.pools); err != nil {
		return reply{}, conflict("creating TFS instance %q: %v", described.name, err)
	}
	f.meta = newMeta("tfs", described, c.org.filesystems.hasSlug, c.now)
	c.org.filesystems.add(f)
	f.subnet.users.add("TFS instance", f.Identity)
	f.securityGroups = reattach("TFS instance", f.Identity, nil, groups)
	return created(f.Identity, f.view(c.now)), nil
}

// filesystemHome is the subnet of a new file system; region and VPC must be its.
func (c *call) filesystemHome(in wire.FilesystemInput) (*subnet, error) {
	home, err := referred(&c.org.subnets, "subnetIdentity", "subnet", in.SubnetIdentity)
	switch {
	case err != nil:
		return nil, err
	case in.VPCIdentity != home.vpc.Identity && in.VPCIdentity != home.vpc.Slug:
		return nil, invalid("field \"vpcIdentity\": subnet %q is not in VPC %q", in.SubnetIdentity, in.VPCIdentity)
	case in.CloudRegionIdentity != home.vpc.region.Identity && in.CloudRegionIdentity != home.vpc.region.Slug:
		return nil, invalid("field \"cloudRegionIdentity\": subnet %q is not in region %q", in.SubnetIdentity, in.CloudRegionIdentity)
	}
	return home, nil
}

func (e *Emulator) updateFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FilesystemInput](c)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(e.rules(), in.SecurityGroupAttachments, f.securityGroups, f.subnet.vpc)
	if err != nil {
		return reply{}, err
	}
	size := kept(in.Size, f.size)
	if size < f.size {
		return reply{}, invalid("field \"size\": %d GB is less than the current %d; file systems only grow", size, f.size)
	}
	if err := f.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	f.securityGroups = reattach("TFS instance", f.Identity, f.securityGroups, groups)
	f.size, f.deleteProtection = size, value(e.rules(), in.DeleteProtection, f.deleteProtection)
	return changed(f.Identity, f.view(c.now)), nil
}

func (e *Emulator) deleteFilesystem(c *call) (reply, error) {
	f, err := c.filesystem()
	if err != nil {
		return reply{}, err
	}
	if f.deleteProtection {
		return reply{}, conflict("TFS instance %q is protected from deletion; switch deleteProtection off first", f.Identity)
	}
	releaseAddresses(f.subnet.pools, f.addresses)
	reattach("TFS instance", f.Identity, f.securityGroups, nil)
	f.subnet.users.remove("TFS instance", f.Identity)
	c.org.filesystems.remove(f)
	return done(f.Identity), nil
}
