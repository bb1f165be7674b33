package document_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// object names one of the API server.
type object struct {
	kind            schema.GroupVersionResource
	namespace, name string
}

// objects are all that somebody has created, and not Kubernetes itself.
func objects(ctx context.Context, config *rest.Config) (map[object]bool, error) {
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lister, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := discovery.ServerPreferredResources(client.Discovery())
	if err != nil {
		return nil, err
	}
	all := map[object]bool{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			kind := group.WithResource(resource.Name)
			if err := addObjects(ctx, lister, kind, all); err != nil {
				return nil, fmt.Errorf("listing %s: %w", resource.Name, err)
			}
		}
	}
	return all, nil
}

// addObjects adds those of one kind. What another object owns goes with it, and events go by themselves.
func addObjects(ctx context.Context, lister metadata.Interface, kind schema.GroupVersionResource,
	all map[object]bool) error {
	if kind.Resource == "events" || kind.Resource == "leases" || kind.Resource == "endpoints" {
		return nil
	}
	list, err := lister.Resource(kind).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // its definition was just deleted
	}
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		if len(item.OwnerReferences) == 0 {
			all[object{kind, item.Namespace, item.Name}] = true
		}
	}
	return nil
}

// reset deletes what was created since, until it is gone.
func (w *world) reset(t *testing.T, before map[object]bool) {
	t.Helper()
	deleter, err := metadata.NewForConfig(w.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	policy := metav1.DeletePropagationBackground
	controlplanetest.Eventually(t, time.Minute, "what the document created is gone", func(ctx context.Context) error {
		now, err := objects(ctx, w.plane.Config())
		if err != nil {
			return err
		}
		for one := range now {
			if before[one] {
				continue
			}
			failed := deleter.Resource(one.kind).Namespace(one.namespace).Delete(ctx, one.name,
				metav1.DeleteOptions{PropagationPolicy: &policy})
			if failed != nil && !apierrors.IsNotFound(failed) {
				return failed
			}
			err = fmt.Errorf("%s %s/%s still exists", one.kind.Resource, one.namespace, one.name)
		}
		return err
	})
}
