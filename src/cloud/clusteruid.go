package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// ClusterIdentity distinguishes clusters with the same key. A cloud that implements it writes the UID of the cluster
// into the objects that it makes, with the writes that are made anyway.
type ClusterIdentity interface {
	// SetUID sets the UID of the cluster, which is that of its namespace kube-system. It is called before Start if it
	// can be read then, and otherwise later: what was read before is read again. Without it, no object counts as that
	// of another cluster.
	SetUID(uid types.UID)
	// ListForeign returns the objects that have the key of this cluster and the UID of another one. Nothing else
	// returns, changes or deletes them.
	ListForeign(ctx context.Context) ([]ManagedObject, error)
	// RunningTargets returns the identities of the running machines that receive traffic through any of the objects.
	// The error is that they are not known, or that the UID of the cluster is not.
	RunningTargets(ctx context.Context, objects []ManagedObject) ([]string, error)
}

// ErrNoClusterUID is the error of RunningTargets without the UID of the cluster.
var ErrNoClusterUID = errors.New("the UID of this cluster is not known: permit get for the namespace kube-system")

// ClusterUID decides whether an object with the key of this cluster belongs to another cluster. nil and the zero value
// do not know the UID of this cluster. It is safe for concurrent use, and must not be copied.
type ClusterUID struct {
	own    atomic.Pointer[types.UID]
	former []string
}

// NewClusterUID returns a ClusterUID that does not know the UID of this cluster yet. former are the UIDs of clusters
// whose objects this one takes over, separated by commas.
func NewClusterUID(former string) *ClusterUID {
	return &ClusterUID{former: strings.Split(former, ",")}
}

// Set sets the UID of this cluster.
func (c *ClusterUID) Set(uid types.UID) { c.own.Store(&uid) }

// Own returns the UID of this cluster; "" if it is not known.
func (c *ClusterUID) Own() types.UID {
	if c == nil {
		return ""
	}
	if own := c.own.Load(); own != nil {
		return *own
	}
	return ""
}

// IsForeign reports whether an object with this UID, and the key of this cluster, belongs to another cluster. An object
// without a UID does not.
func (c *ClusterUID) IsForeign(written string) bool {
	return c.Own() != "" && c.MayBeForeign(written)
}

// MayBeForeign is IsForeign, and also reports true if it is not known, because the UID of this cluster is not.
func (c *ClusterUID) MayBeForeign(written string) bool {
	return written != "" && written != string(c.Own()) && (c == nil || !slices.Contains(c.former, written))
}

// Proves reports whether the UID of an object proves that this cluster has made it.
func (c *ClusterUID) Proves(written string) bool { return written != "" && written == string(c.Own()) }

// ReadClusterUID returns the UID of a cluster: that of its namespace kube-system, which exists as long as the cluster.
func ReadClusterUID(ctx context.Context, client kubernetes.Interface) (types.UID, error) {
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the UID of the namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return namespace.UID, nil
}

// The times between two attempts to read the UID of the cluster: at first, for at most uidTimeout, and then. The
// permission may be given after the program has started.
const (
	uidRetryPeriod = time.Second
	uidTimeout     = 30 * time.Second
	uidLaterPeriod = time.Minute
)

// FindClusterUID calls set with the UID of a cluster as soon as the API server answers, and returns. If it does not
// permit to read it, or does not answer within uidTimeout, the function returns, too, and tries again in the background
// until the context ends. Until then, a program works, and does not recognise the objects of other clusters.
func FindClusterUID(ctx context.Context, client kubernetes.Interface, set func(types.UID)) {
	var err error
	// What it returns is that the time or the context has ended.
	_ = wait.PollUntilContextTimeout(ctx, uidRetryPeriod, uidTimeout, true, func(ctx context.Context) (bool, error) {
		var uid types.UID
		if uid, err = ReadClusterUID(ctx, client); err == nil {
			set(uid)
		}
		return err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err), nil
	})
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The UID of the cluster is not known, so that objects of another cluster "+
			"with the same name in the cloud are not recognised. It is tried again")
		go findClusterUIDLater(ctx, client, set)
	}
}

// findClusterUIDLater calls set as soon as the API server answers and permits to read the UID.
func findClusterUIDLater(ctx context.Context, client kubernetes.Interface, set func(types.UID)) {
	_ = wait.PollUntilContextCancel(ctx, uidLaterPeriod, false, func(ctx context.Context) (bool, error) {
		uid, err := ReadClusterUID(ctx, client)
		if err == nil {
			set(uid)
			klog.FromContext(ctx).Info("The UID of the cluster is known", "uid", uid)
		}
		return err == nil, nil
	})
}
