package simulator

import (
	"fmt"
	"slices"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setDefaults sets the defaults of an object that is read.
func setDefaults(object Object) {
	switch o := object.(type) {
	case *computev1alpha1.Machine:
		setDefault(&o.Spec.Power, computev1alpha1.PowerOn)
		setDefault(&o.Status.State, computev1alpha1.MachineStatePending)
	case *networkingv1alpha1.NetworkInterface:
		setFamilies(&o.Spec.IPFamilies, o.Spec.IPs)
		setDefault(&o.Status.State, networkingv1alpha1.NetworkInterfaceStatePending)
	case *networkingv1alpha1.LoadBalancer:
		setFamilies(&o.Spec.IPFamilies, o.Spec.IPs)
	}
}

func admitNetworkInterface(n, _ *networkingv1alpha1.NetworkInterface) field.ErrorList {
	return validPrefixes(field.NewPath("spec", "prefixes"), n.Spec.Prefixes)
}

// immutable checks a field that may not change.
func immutable(value, old any, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, apivalidation.FieldImmutableErrorMsg)}
}

// validEnum checks a field that has one of some values.
func validEnum[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(path, "a value is needed")}
	case !slices.Contains(supported, value):
		return field.ErrorList{field.NotSupported(path, value, supported)}
	}
	return nil
}

func admitRouting(r, _ *networkingv1alpha1.LoadBalancerRouting) (problems field.ErrorList) {
	for i, d := range r.Destinations {
		path := field.NewPath("destinations").Index(i)
		if !d.IP.Addr.IsValid() {
			problems = append(problems, field.Invalid(path.Child("ip"), fmt.Sprint(d.IP), "must be an address"))
		}
		if d.TargetRef != nil {
			problems = append(problems, validName(path.Child("targetRef", "name"), d.TargetRef.Name)...)
		}
	}
	return problems
}

// validName checks the name of a referenced object.
func validName(path *field.Path, name string) (problems field.ErrorList) {
	for _, problem := range apivalidation.NameIsDNSSubdomain(name, false) {
		problems = append(problems, field.Invalid(path, name, problem))
	}
	return problems
}

func setDefault[T ~string](value *T, to T) {
	if *value == "" {
		*value = to
	}
}
