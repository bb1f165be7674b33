package simulator

import (
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

func kinds() []*apiserver.Kind {
	compute, networking := computev1alpha1.SchemeGroupVersion, networkingv1alpha1.SchemeGroupVersion
	label, subdomain := apivalidation.NameIsDNSLabel, apivalidation.NameIsDNSSubdomain
	return []*apiserver.Kind{{
		GroupVersionKind: compute.WithKind("Machine"), Resource: "machines", ValidName: label,
		HasStatus: true, Object: &computev1alpha1.Machine{},
	}, {
		GroupVersionKind: compute.WithKind("MachinePool"), Resource: "machinepools", ValidName: subdomain,
		Cluster: true, HasStatus: true, Object: &computev1alpha1.MachinePool{},
	}, {
		GroupVersionKind: networking.WithKind("Network"), Resource: "networks", ValidName: subdomain,
		HasStatus: true, Object: &networkingv1alpha1.Network{},
	}, {
		GroupVersionKind: networking.WithKind("NetworkInterface"), Resource: "networkinterfaces", ValidName: subdomain,
		HasStatus: true, Object: &networkingv1alpha1.NetworkInterface{}, Admit: typed(admitNetworkInterface),
	}, {
		GroupVersionKind: networking.WithKind("LoadBalancer"), Resource: "loadbalancers", ValidName: label,
		HasStatus: true, Object: &networkingv1alpha1.LoadBalancer{}, Admit: typed(admitLoadBalancer),
	}, {
		GroupVersionKind: networking.WithKind("LoadBalancerRouting"), Resource: "loadbalancerroutings",
		ValidName: subdomain,
		Object:    &networkingv1alpha1.LoadBalancerRouting{}, Admit: typed(admitRouting),
	}}
}

// typed returns the function for objects of any type, of which it only gets those of type T.
func typed[T Object](admit func(object, old T) field.ErrorList) func(object, old Object) field.ErrorList {
	return func(object, old Object) field.ErrorList {
		typedObject, _ := object.(T)
		typedOld, _ := old.(T)
		return admit(typedObject, typedOld)
	}
}
