package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// object is one of an API server. Namespace is empty for an object of the whole cluster.
type object struct {
	kind            schema.GroupVersionResource
	namespace, name string
}

// objects returns all objects that tests may have made: all but those that Kubernetes makes for others, such as
// events.
func objects(ctx context.Context, config *rest.Config) (map[object]metav1.PartialObjectMetadata, error) {
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found := map[object]metav1.PartialObjectMetadata{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range list.APIResources {
			if !slices.Contains(kind.Verbs, "delete") || !slices.Contains(kind.Verbs, "list") ||
				slices.Contains([]string{"events", "endpointslices", "endpoints"}, kind.Name) {
				continue
			}
			of := version.WithResource(kind.Name)
			all, err := client.Resource(of).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
				continue // its definition or its server has gone
			}
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", kind.Name, err)
			}
			for _, one := range all.Items {
				found[object{of, one.Namespace, one.Name}] = one
			}
		}
	}
	return found, nil
}

// reset deletes all objects of an API server that are not in a list of objects, and waits until namespaces and other
// objects of the whole cluster are gone: the next package may give its own the same names.
func reset(ctx context.Context, config *rest.Config, before map[object]metav1.PartialObjectMetadata) error {
	now, err := objects(ctx, config)
	if err != nil {
		return fmt.Errorf("looking for what tests have left: %w", err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	var left []object
	for one := range now {
		if _, was := before[one]; !was && !strings.HasPrefix(one.name, "kube-") {
			left = append(left, one)
		}
	}
	slices.SortFunc(left, func(a, b object) int { return rank(a) - rank(b) })
	var errs []error
	for _, one := range left {
		at := client.Resource(one.kind).Namespace(one.namespace)
		if len(now[one].Finalizers) > 0 && one.kind.Resource != "namespaces" {
			_, err := at.Patch(ctx, one.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
			errs = append(errs, ignoreGone(err))
		}
		errs = append(errs, ignoreGone(at.Delete(ctx, one.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	limits := poll.Limits{Every: 200 * time.Millisecond, For: cleanupLimit}
	return limits.Until(ctx, "what tests have left is gone", func(ctx context.Context) error {
		left = slices.DeleteFunc(left, func(o object) bool {
			if o.namespace != "" { // goes with its namespace, or at once
				return true
			}
			_, err := client.Resource(o.kind).Namespace(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		if len(left) > 0 {
			return fmt.Errorf("%d objects are there, such as %s %s", len(left), left[0].kind.Resource, left[0].name)
		}
		return nil
	})
}

// rank orders deletions: what would refuse or repeat others first, and namespaces last.
func rank(o object) int {
	switch {
	case o.kind.Group == "admissionregistration.k8s.io":
		return 0
	case o.kind.Group == "apps" || o.kind.Group == "batch":
		return 1
	case o.kind.Resource == "namespaces":
		return 3
	}
	return 2
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
