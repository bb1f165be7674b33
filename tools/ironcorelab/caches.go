package ironcorelab

import (
	"context"
	"fmt"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/ironcore-dev/ironcore/client-go/informers/externalversions"
	compute "github.com/ironcore-dev/ironcore/client-go/listers/compute/v1alpha1"
	ipam "github.com/ironcore-dev/ironcore/client-go/listers/ipam/v1alpha1"
	networking "github.com/ironcore-dev/ironcore/client-go/listers/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// caches have all objects of the namespace as the watches report them.
type caches struct {
	factory    externalversions.SharedInformerFactory
	machines   compute.MachineLister
	networks   networking.NetworkLister
	interfaces networking.NetworkInterfaceLister
	balancers  networking.LoadBalancerLister
	routings   networking.LoadBalancerRoutingLister
	prefixes   ipam.PrefixLister
}

// watch begins to watch all objects, and waits until they are known.
func (l *Lab) watch(ctx context.Context) error {
	factory := externalversions.NewSharedInformerFactoryWithOptions(l.client, 0,
		externalversions.WithNamespace(l.options.Namespace))
	compute, networking := factory.Compute().V1alpha1(), factory.Networking().V1alpha1()
	ipam := factory.Ipam().V1alpha1()
	l.caches = caches{
		factory: factory, machines: compute.Machines().Lister(),
		networks: networking.Networks().Lister(), interfaces: networking.NetworkInterfaces().Lister(),
		balancers: networking.LoadBalancers().Lister(), routings: networking.LoadBalancerRoutings().Lister(),
		prefixes: ipam.Prefixes().Lister(),
	}
	for informer, changed := range map[cache.SharedIndexInformer]func(metav1.Object){
		compute.Machines().Informer():                l.machineChanged,
		networking.Networks().Informer():             l.networkChanged,
		networking.NetworkInterfaces().Informer():    l.interfaceChanged,
		networking.LoadBalancers().Informer():        func(o metav1.Object) { l.add("LoadBalancer", o) },
		networking.LoadBalancerRoutings().Informer(): func(o metav1.Object) { l.add("LoadBalancer", o) },
		ipam.Prefixes().Informer():                   l.addOwner,
	} {
		if _, err := informer.AddEventHandler(handler(changed)); err != nil {
			return fmt.Errorf("watching the objects of IronCore: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("listing all objects of %s: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// handler calls a function with each object that is added, changed or deleted.
func handler(changed func(metav1.Object)) cache.ResourceEventHandler {
	call := func(object any) {
		if last, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
			object = last.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			changed(o)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: call, UpdateFunc: func(was, is any) { call(was); call(is) }, DeleteFunc: call,
	}
}

func (l *Lab) add(kind string, o metav1.Object) {
	l.queue.Add(item{kind, o.GetNamespace(), o.GetName()})
}

// addOwner adds the controller of a generated object.
func (l *Lab) addOwner(o metav1.Object) {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		l.queue.Add(item{owner.Kind, o.GetNamespace(), owner.Name})
	}
}

func (l *Lab) machineChanged(o metav1.Object) {
	l.add("Machine", o)
	machine, ok := o.(*computev1alpha1.Machine)
	if !ok {
		return
	}
	for _, entry := range machine.Spec.NetworkInterfaces {
		l.queue.Add(item{"NetworkInterface", machine.Namespace, role.InterfaceName(machine, entry)})
	}
}

func (l *Lab) networkChanged(o metav1.Object) {
	l.add("Network", o)
	l.addBalancers(o.GetNamespace(), o.GetName())
	nics, _ := l.caches.interfaces.NetworkInterfaces(o.GetNamespace()).List(labels.Everything())
	for _, nic := range nics {
		l.add("NetworkInterface", nic)
	}
}

func (l *Lab) interfaceChanged(o metav1.Object) {
	l.add("NetworkInterface", o)
	l.addOwner(o)
	if nic, ok := o.(*networkingv1alpha1.NetworkInterface); ok {
		l.addBalancers(nic.Namespace, nic.Spec.NetworkRef.Name)
	}
}

// addBalancers adds the load balancers of a network.
func (l *Lab) addBalancers(namespace, network string) {
	balancers, _ := l.caches.balancers.LoadBalancers(namespace).List(labels.Everything())
	for _, lb := range balancers {
		if lb.Spec.NetworkRef.Name == network {
			l.add("LoadBalancer", lb)
		}
	}
}
