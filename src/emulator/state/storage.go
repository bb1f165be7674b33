package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/bucket"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/schedule"
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

// CheckSize checks the size of a new file system.
func (f *Filesystem) CheckSize() error {
	if f.Size < 1 {
		return apierror.Invalid("field \"size\" must be at least 1 GB, not %d", f.Size)
	}
	return nil
}

func (o *Organisation) seedFilesystem(in *seed.Filesystem, now time.Time) error {
	home, groups, err := o.placed(in.Subnet, in.SecurityGroups)
	if err != nil {
		return err
	}
	if err := checkNew(o.Store, &o.Filesystems, checked{kind: "TFS instance", object: in.Object,
		now: now}); err != nil {
		return err
	}
	f := &Filesystem{Subnet: home, Size: in.Size, DeleteProtection: in.DeleteProtection,
		Endpoint: cmp.Or(in.Endpoint, object.NewIdentity("ep")),
		Record:   recorded("tfs", in.Object, o.Filesystems.HasSlug, now)}
	if err := f.CheckSize(); err != nil {
		return err
	}
	if f.Addresses, err = home.assign(in.Addresses); err != nil {
		return fmt.Errorf("field \"addresses\": %w", err)
	}
	home.Users.Add("TFS instance", f.Identity)
	f.SecurityGroups = Reattach("TFS instance", f.Identity, nil, groups)
	return object.Insert(&o.Filesystems, f)
}

// Bucket is a bucket of the object storage. It has no objects. Its slug is its name.
type Bucket struct {
	object.Record
	Org       *Organisation
	Region    *region
	Settings  wire.BucketSettings
	Lifecycle *wire.BucketLifecycle
}

// status is that of a bucket, which can be used at once.
func (b *Bucket) status() string {
	if b.Org.Store.Switches.ActiveBuckets {
		return "active"
	}
	return object.StatusReady
}

// View is the bucket as the API describes it.
func (b *Bucket) View() wire.Bucket {
	return wire.Bucket{
		Identity: b.Identity, Organisation: b.Org.Short(), CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt,
		Labels: b.Labels, Annotations: b.Annotations, Name: b.Name, Status: b.status(),
		Endpoint: "https://" + b.Name + "." + b.Region.Slug + ".objects.emulator.invalid", Region: b.Region.Short(),
		BucketSettings: b.Settings, Lifecycle: b.Lifecycle,
	}
}

// Traits are the values of the bucket that filters of lists can name, besides those that everything has.
func (b *Bucket) Traits(has object.Traits) object.Traits {
	return has.Reference("region", &b.Region.Record).With("status", b.status())
}

// CheckBucketName checks a name, which is part of the address of the bucket and therefore unique in the cloud.
func (s *Store) CheckBucketName(name string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`).MatchString(name) || len(name) > bucket.LongestName {
		return apierror.Invalid("field \"bucketName\" must have 3 to %d lower case letters, digits, '.' and '-', "+
			"and start and end with a letter or digit, not be %q", bucket.LongestName, name)
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
	if err := cmp.Or(o.Store.CheckBucketName(in.Name), checkNew(o.Store, &o.Buckets, checked{kind: "bucket",
		object: in.Object, longest: object.Lengths{Name: bucket.LongestName}, now: now})); err != nil {
		return err
	}
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	in.Slug = in.Name
	b := &Bucket{Org: o, Region: home, Settings: in.Settings.Value, Lifecycle: in.Lifecycle.Value,
		Record: recorded("bucket", in.Object, o.Buckets.HasSlug, now)}
	b.Settings.Versioning = cmp.Or(b.Settings.Versioning, bucket.DefaultSettings().Versioning)
	if err := seed.At("settings", bucket.CheckSettings(b.Settings)); err != nil {
		return err
	}
	if b.Lifecycle != nil {
		if err := seed.At("lifecycle", bucket.CheckLifecycle(b.Lifecycle)); err != nil {
			return err
		}
	}
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

// Check checks what the policy is to do, and plans it.
func (p *SnapshotPolicy) Check(now time.Time) error {
	err := p.Plan(now)
	switch {
	case p.TTL <= 0:
		return apierror.Invalid("field \"ttl\" must be more than 0, not %s", p.TTL)
	case p.KeepCount != nil && *p.KeepCount < 1:
		return apierror.Invalid("field \"keepCount\" must be at least 1, not %d", *p.KeepCount)
	case err != nil:
		return err
	}
	return p.checkTarget()
}

func (p *SnapshotPolicy) checkTarget() error {
	target := p.Target
	if err := object.OneOf("target.type", target.Type, wire.TargetSelector, wire.TargetExplicit); err != nil {
		return err
	}
	switch {
	case target.Type == wire.TargetSelector && len(target.Selector) == 0:
		return apierror.Invalid("field \"target.selector\" is required")
	case target.Type == wire.TargetExplicit && len(target.VolumeIdentities) == 0:
		return apierror.Invalid("field \"target.volumeIdentities\" is required")
	}
	for _, identity := range target.VolumeIdentities {
		v, err := object.Referred(&p.Org.Volumes, "target.volumeIdentities", "volume", identity)
		if err != nil {
			return err
		}
		if v.Region != p.Region {
			return apierror.Invalid("field \"target.volumeIdentities\": volume %q is in region %s, not in that of the "+
				"policy, %s", identity, v.Region.Slug, p.Region.Slug)
		}
	}
	return nil
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

// seedSnapshotPolicy adds a policy of a seed. If times of its schedule have passed since the seed was written,
// snapshots are taken once, now.
func (o *Organisation) seedSnapshotPolicy(in *seed.SnapshotPolicy, now time.Time) error {
	if err := checkNew(o.Store, &o.SnapshotPolicies, checked{kind: "snapshot policy", object: in.Object, unique: true,
		now: now}); err != nil {
		return err
	}
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	p := &SnapshotPolicy{Org: o, Region: home, SnapshotPlan: in.Plan.Value, TTL: in.TTL, last: in.LastAt,
		Record: recorded("sp", in.Object, o.SnapshotPolicies.HasSlug, now)}
	// A state can be from an emulator that accepted any schedule, and the volumes can be gone.
	if err := p.Check(now); err != nil && !o.Store.restoring {
		return err
	}
	if !in.NextAt.IsZero() && in.NextAt.Before(now) && !p.next.IsZero() {
		p.next = now
	}
	return object.Insert(&o.SnapshotPolicies, p)
}
