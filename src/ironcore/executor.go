package ironcore

import (
	"context"
	"encoding/json"
	"fmt"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Apply implements cloud.LoadBalancers. A write to an object that has changed since the plan is cloud.ErrStale.
func (l *loadBalancers) Apply(ctx context.Context, service *corev1.Service, plan cloud.Plan) ([]cloud.Attempt, error) {
	e := executor{loadBalancers: l, created: map[string]types.UID{}}
	return plan.Each(ctx, func(ctx context.Context, operation cloud.Operation) error {
		ctx = tracing.WithCause(ctx, fmt.Sprintf("Service %s: %s", klog.KObj(service), operation))
		ctx, span := tracing.Start(ctx, "write", attribute.String("verb", string(operation.Verb)),
			attribute.String("kind", operation.Kind), attribute.String("name", operation.Name))
		err := stale(e.write(ctx, operation))
		tracing.End(span, err)
		return err
	})
}

// executor makes the writes of one plan.
type executor struct {
	*loadBalancers
	created map[string]types.UID // load balancers that the plan has created, by name
}

func (e *executor) write(ctx context.Context, operation cloud.Operation) error {
	switch object := operation.Object.(type) {
	case balancer.ApplyLoadBalancer:
		return e.applyLoadBalancer(ctx, object)
	case balancer.ApplyRouting:
		return e.applyRouting(ctx, object)
	case balancer.DeleteObject:
		return e.delete(ctx, object)
	}
	return fmt.Errorf("writing %s: the operation has an object of the type %T", operation, operation.Object)
}

// applied is an object in the form of server-side apply.
type applied struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        appliedMetadata                               `json:"metadata"`
	Spec            *networkingv1alpha1.LoadBalancerSpec          `json:"spec,omitempty"`
	NetworkRef      any                                           `json:"networkRef,omitempty"`
	Destinations    *[]networkingv1alpha1.LoadBalancerDestination `json:"destinations,omitempty"`
}

type appliedMetadata struct {
	Name            string                  `json:"name"`
	ResourceVersion string                  `json:"resourceVersion,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// typeOf returns the type of an object of networking.ironcore.dev.
func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: networkingv1alpha1.SchemeGroupVersion.String()}
}

func (e *executor) applyLoadBalancer(ctx context.Context, o balancer.ApplyLoadBalancer) error {
	if o.ResourceVersion == "" {
		e.store.LoadBalancers.Creating(o.Name)
	}
	written, err := apply(ctx, e.store.Client.LoadBalancers.Patch, label.FieldManager, o.Force, applied{
		TypeMeta: typeOf("LoadBalancer"),
		Metadata: appliedMetadata{Name: o.Name, ResourceVersion: o.ResourceVersion,
			Annotations: e.signed(o.Annotations)},
		Spec: &o.Spec,
	})
	if err != nil {
		return err
	}
	e.created[o.Name] = written.UID
	e.store.LoadBalancers.Written(written)
	return nil
}

func (e *executor) applyRouting(ctx context.Context, o balancer.ApplyRouting) error {
	if o.LoadBalancer == "" {
		o.LoadBalancer = e.created[o.Name]
	}
	if o.ResourceVersion == "" {
		e.store.LoadBalancerRoutings.Creating(o.Name)
	}
	yes := true
	written, err := apply(ctx, e.store.Client.LoadBalancerRoutings.Patch, label.FieldManager, o.Force, applied{
		TypeMeta: typeOf("LoadBalancerRouting"),
		Metadata: appliedMetadata{Name: o.Name, ResourceVersion: o.ResourceVersion,
			Annotations: e.signed(o.Annotations),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: networkingv1alpha1.SchemeGroupVersion.String(), Kind: "LoadBalancer", Name: o.Name,
				UID: o.LoadBalancer, Controller: &yes, // exactly as IronCore's controller applies it, too
			}}},
		NetworkRef: o.Network, Destinations: &o.Destinations,
	})
	if err != nil {
		return err
	}
	e.store.LoadBalancerRoutings.Written(written)
	return nil
}

// patch is the method Patch of a typed client.
type patch[T any] func(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string) (T, error)

// apply sends one server-side apply.
func apply[T any](ctx context.Context, send patch[T], manager string, force bool, object applied) (T, error) {
	var none T
	data, err := json.Marshal(object)
	if err != nil {
		return none, fmt.Errorf("encoding %s %s: %w", object.Kind, object.Metadata.Name, err)
	}
	written, err := send(ctx, object.Metadata.Name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: manager, Force: &force})
	if err != nil {
		return none, fmt.Errorf("applying %s %s: %w", object.Kind, object.Metadata.Name, err)
	}
	return written, nil
}

func (e *executor) delete(ctx context.Context, o balancer.DeleteObject) error {
	if o.Kind == "LoadBalancerRouting" {
		return deleteFrom(ctx, e.store, e.store.LoadBalancerRoutings, "loadbalancerroutings", o,
			new(networkingv1alpha1.LoadBalancerRouting))
	}
	return deleteFrom(ctx, e.store, e.store.LoadBalancers, "loadbalancers", o, new(networkingv1alpha1.LoadBalancer))
}

// deleteFrom deletes the version of an object that the plan was computed from. An object that does not exist is
// deleted. The store gets the answer, so that the object is not deleted again while the watch is behind.
func deleteFrom[T store.Object](ctx context.Context, s *store.Store, objects *store.Objects[T], resource string,
	o balancer.DeleteObject, answer T) error {
	err := s.Client.Delete(ctx, resource, o.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}}, answer)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s: %w", o.Kind, o.Name, err)
	}
	if len(answer.GetFinalizers()) > 0 {
		objects.Written(answer)
		return nil
	}
	answer.SetName(o.Name)
	answer.SetUID(o.UID)
	answer.SetResourceVersion(o.ResourceVersion)
	objects.Deleted(answer)
	return nil
}

// stale returns the error of a write, which is cloud.ErrStale if the object has another version than the plan. A
// conflict of field managers is no such error: another version of the plan does not solve it.
func stale(err error) error {
	if apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("%w: %w", cloud.ErrStale, err)
	}
	return err
}
