package simulator

import (
	"fmt"
	"slices"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldsOf returns the fields that a field selector can select, besides those of all kinds.
func fieldsOf(object Object) fields.Set {
	set := fields.Set{}
	if m, ok := object.(*computev1alpha1.Machine); ok {
		set["spec.machineClassRef.name"], set["spec.machinePoolRef.name"] = m.Spec.MachineClassRef.Name, ""
		if m.Spec.MachinePoolRef != nil {
			set["spec.machinePoolRef.name"] = m.Spec.MachinePoolRef.Name
		}
	}
	return set
}

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

func admitMachine(m, old *computev1alpha1.Machine) field.ErrorList {
	spec := field.NewPath("spec")
	problems := validReference(spec.Child("machineClassRef"), m.Spec.MachineClassRef)
	if m.Spec.MachinePoolRef != nil {
		problems = append(problems, validName(spec.Child("machinePoolRef", "name"), m.Spec.MachinePoolRef.Name)...)
	}
	problems = append(problems, validEnum(spec.Child("power"), m.Spec.Power, computev1alpha1.PowerOn,
		computev1alpha1.PowerOff)...)
	problems = append(problems, admitEntries(m.Spec.NetworkInterfaces, spec.Child("networkInterface"))...)
	if old == nil {
		return problems
	}
	problems = append(problems, immutable(
		m.Spec.MachineClassRef, old.Spec.MachineClassRef, spec.Child("machineClassRef"))...)
	if old.Spec.MachinePoolRef != nil {
		problems = append(problems, immutable(
			m.Spec.MachinePoolRef, old.Spec.MachinePoolRef, spec.Child("machinePoolRef"))...)
	}
	return problems
}

func admitEntries(entries []computev1alpha1.NetworkInterface, path *field.Path) (problems field.ErrorList) {
	seen := map[string]bool{}
	for i, e := range entries {
		at := path.Index(i)
		if seen[e.Name] {
			problems = append(problems, field.Duplicate(at.Child("name"), e.Name))
		}
		seen[e.Name] = true
		problems = append(problems, validName(at.Child("name"), e.Name)...)
		switch {
		case e.NetworkInterfaceRef == nil && e.Ephemeral == nil:
			problems = append(problems, field.Invalid(at, e.Name, "a source of the network interface is needed"))
		case e.NetworkInterfaceRef != nil && e.Ephemeral != nil:
			problems = append(problems, field.Forbidden(at.Child("ephemeral"), "there is another source"))
		}
	}
	return problems
}

func admitMachinePool(p, old *computev1alpha1.MachinePool) field.ErrorList {
	if old == nil {
		return nil
	}
	return setOnce(p.Spec.ProviderID, old.Spec.ProviderID)
}

// setOnce checks a provider ID.
func setOnce(id, old string) field.ErrorList {
	if old == "" {
		return nil
	}
	return immutable(id, old, field.NewPath("spec", "providerID"))
}

func admitNetwork(n, old *networkingv1alpha1.Network) field.ErrorList {
	if old == nil {
		return nil
	}
	return setOnce(n.Spec.ProviderID, old.Spec.ProviderID)
}

func admitNetworkInterface(n, old *networkingv1alpha1.NetworkInterface) field.ErrorList {
	spec := field.NewPath("spec")
	problems := append(validReference(spec.Child("networkRef"), n.Spec.NetworkRef),
		validFamilies(spec.Child("ipFamilies"), n.Spec.IPFamilies)...)
	if len(n.Spec.IPs) != len(n.Spec.IPFamilies) {
		problems = append(problems, field.Invalid(spec.Child("ips"), len(n.Spec.IPs), "one per IP family is needed"))
	}
	problems = append(problems, validIPs(spec.Child("ips"), n.Spec.IPs, n.Spec.IPFamilies)...)
	problems = append(problems, validPrefixes(spec.Child("prefixes"), n.Spec.Prefixes)...)
	if old == nil {
		return problems
	}
	// One problem of the whole spec, whatever has changed.
	fixed := func(s networkingv1alpha1.NetworkInterfaceSpec) []any {
		return []any{s.NetworkRef, s.IPFamilies, s.Attributes}
	}
	return append(problems, immutable(fixed(n.Spec), fixed(old.Spec), spec)...)
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

// validReference checks a reference that is needed.
func validReference(path *field.Path, ref corev1.LocalObjectReference) (problems field.ErrorList) {
	if ref.Name == "" {
		problems = append(problems, field.Required(path, "a reference is needed"))
	}
	return append(problems, validName(path.Child("name"), ref.Name)...)
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
