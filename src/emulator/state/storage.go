package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// statusAvailable starts with a capital letter, unlike the statuses of networks.
const statusAvailable = "Available"

// Filesystem is an instance of the NFS service. It has an address, on which
// nothing answers.
type Filesystem struct {
	object.Record
	Subnet           *Subnet
	Endpoint         string
	Addresses        []netip.Addr
	Size             int
	DeleteProtection bool
	SecurityGroups   []*SecurityGroup
}

// View is the file system as the API describes it.
func (f *Filesystem) View(now time.Time) wire.Filesystem {
	v := f.Subnet.VPC
	view := wire.Filesystem{
		Meta: f.Meta, Region: v.Region.Short(), Organisation: v.Org.Short(), VPC: v.Short(), Subnet: f.Subnet.Short(),
		Size: f.Size, DeleteProtection: f.DeleteProtection, Status: statusAvailable, LastStatusChangedAt: &f.CreatedAt,
	}
	view.SecurityGroups = SecurityGroupViews(f.SecurityGroups, now)
	for _, addr := range f.Addresses {
		kind := "IPv4"
		if addr.Is6() {
			kind = "IPv6"
		}
		view.Endpoints = append(view.Endpoints, wire.Endpoint{
			Identity: f.Endpoint, Name: f.Name, CreatedAt: f.CreatedAt, EndpointAddress: addr.String(),
			EndpointAddressType: kind, EndpointType: "vpc", ResourceType: "tfs_instance", ResourceIdentity: f.Identity,
		})
	}
	return view
}

// Traits are the values of the file system that filters of lists can name.
func (f *Filesystem) Traits() object.Traits {
	return f.Record.Traits().Reference("subnet", &f.Subnet.Record).Reference("vpc", &f.Subnet.VPC.Record).
		Reference("region", &f.Subnet.VPC.Region.Record).With("status", statusAvailable)
}

// statusActive is the status of a bucket, which can be used at once.
const statusActive = "active"

// Bucket is a bucket of the object storage. It has no objects. Its slug is its name.
type Bucket struct {
	object.Record
	Org       *Organisation
	Region    *region
	Settings  wire.BucketSettings
	Lifecycle *wire.BucketLifecycle
}

// View is the bucket as the API describes it.
func (b *Bucket) View() wire.Bucket {
	return wire.Bucket{
		Identity: b.Identity, Organisation: b.Org.Short(), CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt,
		Labels: b.Labels, Annotations: b.Annotations, Name: b.Name, Status: statusActive,
		Endpoint: "https://" + b.Name + "." + b.Region.Slug + ".objects.emulator.invalid", Region: b.Region.Short(),
		BucketSettings: b.Settings, Lifecycle: b.Lifecycle,
	}
}

// Traits are the values of the bucket that filters of lists can name, besides those that everything has.
func (b *Bucket) Traits(has object.Traits) object.Traits {
	return has.Reference("region", &b.Region.Record).With("status", statusActive)
}

func (o *Organisation) seedFilesystem(in *seed.Filesystem, now time.Time) error {
	home, groups, err := o.placed(in.Subnet, in.SecurityGroups)
	if err != nil {
		return err
	}
	f := &Filesystem{Subnet: home, Size: in.Size, DeleteProtection: in.DeleteProtection,
		Endpoint: cmp.Or(in.Endpoint, object.NewIdentity("ep")),
		Record:   recorded("tfs", in.Object, o.Filesystems.HasSlug, now)}
	if f.Size < 1 {
		return fmt.Errorf("field \"size\" must be at least 1 GB, not %d", f.Size)
	}
	if f.Addresses, err = home.assign(in.Addresses); err != nil {
		return fmt.Errorf("field \"addresses\": %w", err)
	}
	home.Users.Add("TFS instance", f.Identity)
	f.SecurityGroups = Reattach("TFS instance", f.Identity, nil, groups)
	return object.Insert(&o.Filesystems, f)
}

// DefaultBucketSettings are those of a bucket whose creator chose none.
func DefaultBucketSettings() wire.BucketSettings { return wire.BucketSettings{Versioning: "Disabled"} }

// CheckBucketName checks a name, which is part of the address of the bucket and therefore unique in the cloud.
func (s *Store) CheckBucketName(name string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`).MatchString(name) {
		return apierror.Invalid("field \"bucketName\" must have at least 3 lower case letters, digits, '.' and '-', "+
			"and start and end with a letter or digit, not be %q", name)
	}
	for o := range s.Spaces() {
		if o.Buckets.HasSlug(name) {
			return apierror.Conflict("field \"bucketName\": a bucket is called %q already, perhaps one of another "+
				"organisation", name)
		}
	}
	return nil
}

func (o *Organisation) seedBucket(in *seed.Bucket, now time.Time) error {
	if err := o.Store.CheckBucketName(in.Name); err != nil {
		return err
	}
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	in.Slug = in.Name
	b := &Bucket{Org: o, Region: home, Settings: in.Settings.Value, Lifecycle: in.Lifecycle.Value,
		Record: recorded("bucket", in.Object, o.Buckets.HasSlug, now)}
	b.Settings.Versioning = cmp.Or(b.Settings.Versioning, DefaultBucketSettings().Versioning)
	return object.Insert(&o.Buckets, b)
}

func (o *Organisation) describeBuckets() (out []seed.Bucket) {
	for b := range o.Buckets.All() {
		out = append(out, seed.Bucket{Object: seed.Described(b.Meta), Region: b.Region.Identity,
			Settings:  seed.JSON[wire.BucketSettings]{Value: b.Settings},
			Lifecycle: seed.JSON[*wire.BucketLifecycle]{Value: b.Lifecycle}})
	}
	return out
}
