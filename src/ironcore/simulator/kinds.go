package simulator

import (
	"reflect"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is an object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// kind is a resource, and how the real server treats it.
type kind struct {
	schema.GroupVersionKind
	resource string
	cluster  bool // objects have no namespace
	// statusKept means that the status is written through the main endpoint, specKept that the spec is written through
	// the endpoint of the status.
	hasStatus, statusKept, specKept bool
	generation                      bool // metadata.generation is maintained
	empty                           func() Object
	validName                       apivalidation.ValidateNameFunc
	// admit validates. The old object is nil if the object is created.
	admit func(object, old Object) field.ErrorList
}

func kinds() []*kind {
	compute, networking := computev1alpha1.SchemeGroupVersion, networkingv1alpha1.SchemeGroupVersion
	label, subdomain := apivalidation.NameIsDNSLabel, apivalidation.NameIsDNSSubdomain
	return []*kind{{
		GroupVersionKind: compute.WithKind("Machine"), resource: "machines", validName: label,
		hasStatus: true, statusKept: true,
		empty: func() Object { return &computev1alpha1.Machine{} }, admit: typed(admitMachine),
	}, {
		GroupVersionKind: compute.WithKind("MachinePool"), resource: "machinepools", validName: subdomain,
		cluster: true, hasStatus: true, generation: true,
		empty: func() Object { return &computev1alpha1.MachinePool{} }, admit: typed(admitMachinePool),
	}, {
		GroupVersionKind: networking.WithKind("Network"), resource: "networks", validName: subdomain,
		hasStatus: true, generation: true,
		empty: func() Object { return &networkingv1alpha1.Network{} }, admit: typed(admitNetwork),
	}, {
		GroupVersionKind: networking.WithKind("NetworkInterface"), resource: "networkinterfaces", validName: subdomain,
		hasStatus: true, statusKept: true,
		empty: func() Object { return &networkingv1alpha1.NetworkInterface{} }, admit: typed(admitNetworkInterface),
	}, {
		GroupVersionKind: networking.WithKind("LoadBalancer"), resource: "loadbalancers", validName: label,
		hasStatus: true, specKept: true,
		empty: func() Object { return &networkingv1alpha1.LoadBalancer{} }, admit: typed(admitLoadBalancer),
	}, {
		GroupVersionKind: networking.WithKind("LoadBalancerRouting"), resource: "loadbalancerroutings",
		validName: subdomain,
		empty:     func() Object { return &networkingv1alpha1.LoadBalancerRouting{} }, admit: typed(admitRouting),
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

func (k *kind) new() Object {
	o := k.empty()
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return o
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.resource}
}

// kindOf returns the kind of an object of one of the types; otherwise nil.
func (s *Simulator) kindOf(object Object) *kind {
	for _, k := range s.kinds {
		if reflect.TypeOf(k.empty()) == reflect.TypeOf(object) {
			return k
		}
	}
	return nil
}

// copyField copies a field of a struct if there is one with this name.
func copyField(to, from Object, name string) {
	if f := reflect.ValueOf(to).Elem().FieldByName(name); f.IsValid() {
		f.Set(reflect.ValueOf(from).Elem().FieldByName(name))
	}
}
