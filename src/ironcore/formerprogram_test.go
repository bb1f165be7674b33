package ironcore

import (
	"encoding/json"
	"fmt"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// former writes objects as the cloud controller manager does that this one replaces.
type former struct {
	*rig
	api     *client.Client
	cluster string // --cluster-name
}

func (r *rig) former() former {
	r.Helper()
	config := r.server.Config()
	config.UserAgent = "ironcore-cloud-controller-manager/v0.4.0"
	api, err := client.New(config, testNamespace)
	if err != nil {
		r.Fatal(err)
	}
	return former{rig: r, api: api, cluster: testCluster}
}

// applyOptions are those of its server-side apply.
func applyOptions() metav1.PatchOptions {
	force := true
	return metav1.PatchOptions{FieldManager: "cloud-provider.ironcore.dev/loadbalancer", Force: &force}
}

// ensure writes the load balancer of a Service, and its destinations unless IronCore chooses them.
func (f former) ensure(name string, service *corev1.Service, machines ...string) {
	f.Helper()
	one := &networkingv1alpha1.LoadBalancer{TypeMeta: typeOf("LoadBalancer")}
	one.Name, one.Namespace = name, testNamespace
	one.Annotations = map[string]string{"cluster-name": f.cluster, "service-name": service.Name,
		"service-namespace": service.Namespace, "service-uid": string(service.UID)}
	one.Spec = f.spec(service)
	applied, err := f.api.LoadBalancers.Patch(f.ctx, name, types.ApplyPatchType, f.encode(one), applyOptions())
	if err != nil {
		f.Fatal(err)
	}
	if !f.selector {
		f.ensureRouting(applied, machines...)
	}
}

func (f former) spec(service *corev1.Service) networkingv1alpha1.LoadBalancerSpec {
	spec := networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
		IPFamilies: service.Spec.IPFamilies, NetworkRef: corev1.LocalObjectReference{Name: testNetwork}}
	for i, port := range service.Spec.Ports {
		spec.Ports = append(spec.Ports, networkingv1alpha1.LoadBalancerPort{Port: port.Port,
			Protocol: &service.Spec.Ports[i].Protocol})
	}
	if f.selector {
		spec.NetworkInterfaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{
			"kubernetes.io/cluster": f.cluster}}
	}
	if service.Annotations[label.Internal] == "true" {
		spec.Type = networkingv1alpha1.LoadBalancerTypeInternal
		spec.IPs = []networkingv1alpha1.IPSource{{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
			PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: ipamv1alpha1.PrefixSpec{
				IPFamily: corev1.IPv4Protocol, ParentRef: &corev1.LocalObjectReference{Name: "internal"}}}}}}
	}
	return spec
}

// ensureRouting applies the destinations.
func (f former) ensureRouting(one *networkingv1alpha1.LoadBalancer, machines ...string) {
	f.Helper()
	network, _ := f.server.Network(testNetwork)
	yes := true
	routing := &networkingv1alpha1.LoadBalancerRouting{TypeMeta: typeOf("LoadBalancerRouting"),
		NetworkRef:   commonv1alpha1.LocalUIDReference{Name: network.Name, UID: network.UID},
		Destinations: f.destinationsOf(machines)}
	routing.Name, routing.Namespace = one.Name, one.Namespace
	routing.OwnerReferences = []metav1.OwnerReference{{APIVersion: networkingv1alpha1.SchemeGroupVersion.String(),
		Kind: "LoadBalancer", Name: one.Name, UID: one.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
	_, err := f.api.LoadBalancerRoutings.Patch(f.ctx, one.Name, types.ApplyPatchType, f.encode(routing), applyOptions())
	if err != nil {
		f.Fatal(err)
	}
}

// update writes other destinations, as it does when the Nodes change: not with server-side apply.
func (f former) update(name string, machines ...string) {
	f.Helper()
	change := f.encode(map[string]any{"destinations": f.destinationsOf(machines)})
	_, err := f.api.LoadBalancerRoutings.Patch(f.ctx, name, types.MergePatchType, change, metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

func (f former) destinationsOf(machines []string) []networkingv1alpha1.LoadBalancerDestination {
	f.Helper()
	var all []networkingv1alpha1.LoadBalancerDestination
	for _, machine := range machines {
		nic, exists := f.server.NetworkInterface(interfaceOf(machine))
		if !exists {
			f.Fatalf("there is no network interface of %s", machine)
		}
		for _, ip := range nic.Status.IPs {
			all = append(all, networkingv1alpha1.LoadBalancerDestination{IP: ip,
				TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{UID: nic.UID, Name: nic.Name,
					ProviderID: nic.Spec.ProviderID}})
		}
	}
	return all
}

// setLabels labels a machine and its network interface.
func (f former) setLabels(machine string) {
	f.Helper()
	change := fmt.Appendf(nil, `{"metadata":{"labels":{"kubernetes.io/cluster":%q}}}`, testCluster)
	_, err := f.api.Machines.Patch(f.ctx, machine, types.MergePatchType, change, metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
	_, err = f.api.NetworkInterfaces.Patch(f.ctx, interfaceOf(machine), types.MergePatchType, change,
		metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

func (f former) encode(object any) []byte {
	f.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		f.Fatal(err)
	}
	return data
}
