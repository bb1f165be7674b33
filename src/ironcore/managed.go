package ironcore

import (
	"context"
	"maps"
	"slices"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

var _ cloud.ClusterIdentity = (*loadBalancers)(nil)

// ListManaged returns the load balancers whose annotations name this cluster.
func (l *loadBalancers) ListManaged(ctx context.Context) ([]cloud.ManagedObject, error) {
	ours, _, err := l.list(ctx)
	return ours, err
}

// ListForeign implements cloud.ClusterIdentity.
func (l *loadBalancers) ListForeign(ctx context.Context) ([]cloud.ManagedObject, error) {
	_, foreign, err := l.list(ctx)
	return foreign, err
}

// list returns the load balancers of this cluster, and those of other clusters with the same name.
func (l *loadBalancers) list(ctx context.Context) (ours, foreign []cloud.ManagedObject, err error) {
	if err := l.store.WaitForSync(ctx, l.store.LoadBalancers); err != nil {
		return nil, nil, err
	}
	for _, one := range l.store.LoadBalancers.List() {
		switch managed, other := l.config.Manages(one); {
		case managed:
			ours = append(ours, l.managedObject(one))
		case other:
			foreign = append(foreign, l.managedObject(one))
		}
	}
	return ours, foreign, nil
}

func (l *loadBalancers) managedObject(one *networkingv1alpha1.LoadBalancer) cloud.ManagedObject {
	owner := label.OwnerOf(one)
	object := cloud.ManagedObject{Service: owner.Service, UID: owner.UID, Kind: "LoadBalancer", Name: one.Name,
		Identity: one.Name, ClusterUID: owner.ClusterUID, Proven: l.config.UID.Proves(string(owner.ClusterUID))}
	if one.DeletionTimestamp != nil {
		object.State = "deleting"
	}
	return object
}

// SetUID implements cloud.ClusterIdentity.
func (l *loadBalancers) SetUID(uid types.UID) { l.config.UID.Set(uid) }

// RunningTargets implements cloud.ClusterIdentity.
func (l *loadBalancers) RunningTargets(ctx context.Context, objects []cloud.ManagedObject) ([]string, error) {
	if l.config.UID.Own() == "" {
		return nil, cloud.ErrNoClusterUID
	}
	if err := l.store.WaitForSync(ctx, l.store.LoadBalancerRoutings, l.store.Machines,
		l.store.NetworkInterfaces); err != nil {
		return nil, err
	}
	running := map[string]bool{}
	for _, object := range objects {
		of := map[string]string{} // machines by network interface
		if routing, exists := l.store.LoadBalancerRoutings.Get(object.Identity); exists {
			l.addMachines(of, routing)
		}
		for _, name := range of {
			if machine, exists := l.store.Machines.Get(name); exists && isRunning(machine) {
				running[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(running)), nil
}

func isRunning(machine *computev1alpha1.Machine) bool {
	return machine.DeletionTimestamp == nil && machine.Status.State == computev1alpha1.MachineStateRunning
}

// signed returns the annotations with the UID of this cluster, if it is known.
func (l *loadBalancers) signed(annotations map[string]string) map[string]string {
	uid := l.config.UID.Own()
	if uid == "" {
		return annotations
	}
	written := maps.Clone(annotations)
	written[label.ClusterUID] = string(uid)
	return written
}
