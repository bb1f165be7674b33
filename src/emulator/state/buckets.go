package state

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

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
