package cloud

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestClusterUID: an object belongs to another cluster only if its UID and that of this cluster are known and differ,
// and the other cluster is not one that this one replaces.
func TestClusterUID(t *testing.T) {
	unknown, known := NewClusterUID("old,older"), NewClusterUID("old,older")
	known.Set("own")
	for name, tt := range map[string]struct {
		uid             *ClusterUID
		written         string
		foreign, proven bool
	}{
		"own":               {known, "own", false, true},
		"none":              {known, "", false, false},
		"former":            {known, "older", false, false},
		"other":             {known, "other", true, false},
		"not known":         {unknown, "other", false, false},
		"not known, none":   {unknown, "", false, false},
		"without a cluster": {nil, "other", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.uid.IsForeign(tt.written); got != tt.foreign {
				t.Errorf("foreign: got %t, want %t", got, tt.foreign)
			}
			if got := tt.uid.Proves(tt.written); got != tt.proven {
				t.Errorf("proven: got %t, want %t", got, tt.proven)
			}
		})
	}
}

// TestFindClusterUID: the UID of a cluster is that of its namespace kube-system, also if the API server does not
// answer at first. Without the permission there is none, until it is given.
func TestFindClusterUID(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("namespaces"), metav1.NamespaceSystem, errors.New("no rule"))
	for name, tt := range map[string]struct {
		failures []error
		uid      types.UID
		later    time.Duration // when it is set otherwise
	}{
		"answer": {nil, "uid-1", 0},
		"late answer": {[]error{errors.New("refused"), apierrors.NewInternalError(errors.New("etcd"))}, "uid-1",
			0},
		"no answer for long":     {slices.Repeat([]error{errors.New("refused")}, 40), "", 0},
		"not permitted":          {[]error{forbidden}, "", time.Minute},
		"not permitted for long": {[]error{forbidden, forbidden, errors.New("refused")}, "", 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
					Name: metav1.NamespaceSystem, UID: "uid-1"}})
				failures := tt.failures
				client.PrependReactor("get", "namespaces",
					func(clienttesting.Action) (failed bool, _ runtime.Object, err error) {
						if len(failures) > 0 {
							failed, err, failures = true, failures[0], failures[1:]
						}
						return failed, nil, err
					})
				var got, took atomic.Value // another goroutine may set them
				began := time.Now()
				FindClusterUID(t.Context(), client, func(uid types.UID) {
					took.Store(time.Since(began))
					got.Store(uid)
				})
				if uid, _ := got.Load().(types.UID); uid != tt.uid {
					t.Errorf("UID %q, want %q", uid, tt.uid)
				}
				<-time.After(time.Hour)
				if got.Load() != types.UID("uid-1") || tt.later > 0 && took.Load() != tt.later {
					t.Errorf("UID %q after %s, want one after %s", got.Load(), took.Load(), tt.later)
				}
			})
		})
	}
}
