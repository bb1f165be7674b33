package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// Kubernetes reads objects of the cluster. The first two methods show whether an earlier process may have sent the same
// creation. That process may have ended before it got the answer, and lists may lack the object for
// store.VisibilityDelay.
type Kubernetes interface {
	// LeaderSince returns when the present holder of a Lease in the namespace of the driver acquired it; zero if nobody
	// had the Lease before.
	LeaderSince(ctx context.Context, lease string) (time.Time, error)
	// Object returns the metadata of an object.
	Object(ctx context.Context, kind schema.GroupVersionResource, namespace, name string) (metav1.Object, error)
	// VolumeLimit returns how many volumes of the driver a Node may have; 0 if this is not known.
	VolumeLimit(ctx context.Context, node, driver string) (int, error)
}

// creation is a request of a sidecar to create an object.
type creation struct {
	name       string // that the sidecar has chosen; it ends with the UID of the object that it is for
	parameters map[string]string
	lease      string // prefix of the name of the sidecar's Lease
	kind       schema.GroupVersionResource
	key        string // prefix of the parameters that name the object that it is for
}

// volumeCreation is a request of csi-provisioner.
func volumeCreation(name string, parameters map[string]string) creation {
	return creation{name: name, parameters: parameters, key: volume.ReservedPrefix + "pvc/",
		kind: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}}
}

// snapshotCreation is a request of csi-snapshotter.
func snapshotCreation(name string, parameters map[string]string) creation {
	return creation{name: name, parameters: parameters, key: volume.ReservedPrefix + "volumesnapshot/",
		lease: "external-snapshotter-leader-",
		kind: schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1",
			Resource: "volumesnapshots"}}
}

// checkEarlier returns an Aborted error while an earlier process may have created an object that lists lack. listed is
// when the lists were requested, which are at most Poll old. After that, taken returns an error if an object without
// the labels of this cluster, which lists lack always, has the name: the former driver may have created it.
//
// An earlier process is one that ran before this one started, or one whose sidecar was the leader before the present
// leader: sidecars that are not leaders send no requests. Claims and snapshots that are newer than that do not wait,
// because nobody can have sent a creation for them. A Lease has the time of the machine of its holder, which is that of
// this process. Machines' clocks have to differ by less than the time that it takes to start a process or to acquire a
// Lease, because the time of a claim is that of the API server.
//
// The Lease is read each time. A time that is remembered would be wrong after the leadership moved away and back.
func (c *Controller) checkEarlier(ctx context.Context, listed time.Time, one creation,
	taken func(context.Context) error) error {
	if c.Kubernetes == nil {
		return nil
	}
	lease := one.lease + strings.ReplaceAll(c.Owner.Driver, ".", "-")
	since, err := c.Kubernetes.LeaderSince(ctx, lease)
	if err != nil {
		return status.Errorf(codes.Unavailable, "creating %s: reading Lease %s: %v", one.name, lease, err)
	}
	if since.Before(c.started) {
		since = c.started
	}
	if c.isNewer(ctx, one, since) {
		return nil
	}
	until := since.Add(store.VisibilityDelay + c.Poll)
	left := until.Sub(listed)
	if left <= 0 {
		return taken(ctx)
	}
	return status.Errorf(codes.Aborted, "creating %s: an earlier process may have created it, and lists of the cloud "+
		"may not contain it yet; it is looked for again for %s, and is then created%s", one.name,
		left.Round(time.Second), one.unnamed(until))
}

// unnamed returns what else to say about a creation that does not name the object that it is for, and so waits until a
// time, although it may be new.
func (one creation) unnamed(until time.Time) string {
	parameter := one.key + "name"
	if one.parameters[parameter] != "" {
		return ""
	}
	return fmt.Sprintf("; only creations wait, until %s, and only without the parameter %s, by which the driver finds "+
		"out that nobody can have sent the request before", until.UTC().Format(time.RFC3339), parameter)
}

// volumeTaken returns an error if any volume of the region has the name in the cloud.
func (c *Controller) volumeTaken(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		found, err := c.Storage.AnyVolumesNamed(ctx, name)
		if err != nil {
			return unfinished(problemOf("looking for volume "+name, err))
		}
		v, ours, err := volume.Choose(c.Owner, found)
		return orListed(err, ours, "volume "+v.ID)
	}
}

// snapshotTaken is volumeTaken for snapshots.
func (c *Controller) snapshotTaken(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		found, err := c.Storage.AnySnapshotsNamed(ctx, name)
		if err != nil {
			return unfinished(problemOf("looking for snapshot "+name, err))
		}
		snapshot, ours, err := volume.ChooseSnapshot(c.Owner, found)
		return orListed(err, ours, "snapshot "+snapshot.ID)
	}
}

// orListed returns err, or an Aborted error for an object of this cluster that lists lacked.
func orListed(err error, ours bool, object string) error {
	if err != nil || !ours {
		return err
	}
	return status.Errorf(codes.Aborted, "%s exists already, and the list of the cloud lacks it; it is used when the "+
		"request is retried", object)
}

// isNewer reports whether the object that a creation is for was created after a time. Sidecars name it if they run with
// --extra-create-metadata. Another object may have the same name now, so that the UID is compared.
func (c *Controller) isNewer(ctx context.Context, one creation, than time.Time) bool {
	namespace, name := one.parameters[one.key+"namespace"], one.parameters[one.key+"name"]
	if name == "" {
		return false
	}
	object, err := c.Kubernetes.Object(ctx, one.kind, namespace, name)
	if err != nil {
		klog.FromContext(ctx).Error(err, "The age of the object that a creation is for is not known", "name",
			one.name, "kind", one.kind.Resource, "object", klog.KRef(namespace, name))
		return false
	}
	return strings.HasSuffix(one.name, string(object.GetUID())) && object.GetCreationTimestamp().After(than)
}
