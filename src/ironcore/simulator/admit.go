package simulator

import (
	"fmt"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldsOf returns the fields that a field selector can select.
func fieldsOf(object Object) fields.Set {
	set := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	if m, ok := object.(*computev1alpha1.Machine); ok {
		set["spec.machineClassRef.name"], set["spec.machinePoolRef.name"] = m.Spec.MachineClassRef.Name, ""
		if m.Spec.MachinePoolRef != nil {
			set["spec.machinePoolRef.name"] = m.Spec.MachinePoolRef.Name
		}
	}
	return set
}

func admitMachine(m, old *computev1alpha1.Machine) field.ErrorList {
	setDefault(&m.Spec.Power, computev1alpha1.PowerOn)
	setDefault(&m.Status.State, computev1alpha1.MachineStatePending)
	spec := field.NewPath("spec")
	problems := validName(spec.Child("machineClassRef", "name"), m.Spec.MachineClassRef.Name)
	if m.Spec.MachinePoolRef != nil {
		problems = append(problems, validName(spec.Child("machinePoolRef", "name"), m.Spec.MachinePoolRef.Name)...)
	}
	problems = append(problems, admitEntries(m.Spec.NetworkInterfaces, spec.Child("networkInterfaces"))...)
	if old == nil {
		return problems
	}
	problems = append(problems, apivalidation.ValidateImmutableField(
		m.Spec.MachineClassRef, old.Spec.MachineClassRef, spec.Child("machineClassRef"))...)
	if old.Spec.MachinePoolRef != nil {
		problems = append(problems, apivalidation.ValidateImmutableField(
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
		if (e.NetworkInterfaceRef == nil) == (e.Ephemeral == nil) {
			problems = append(problems, field.Forbidden(at, "exactly one source of the network interface is needed"))
		}
	}
	return problems
}

func admitMachinePool(p, old *computev1alpha1.MachinePool) field.ErrorList {
	setDefault(&p.Status.State, computev1alpha1.MachinePoolStatePending)
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
	return apivalidation.ValidateImmutableField(id, old, field.NewPath("spec", "providerID"))
}

func admitNetwork(n, old *networkingv1alpha1.Network) field.ErrorList {
	setDefault(&n.Status.State, networkingv1alpha1.NetworkStatePending)
	if old == nil {
		return nil
	}
	return setOnce(n.Spec.ProviderID, old.Spec.ProviderID)
}

func admitNetworkInterface(n, old *networkingv1alpha1.NetworkInterface) field.ErrorList {
	setDefault(&n.Status.State, networkingv1alpha1.NetworkInterfaceStatePending)
	setFamilies(&n.Spec.IPFamilies, n.Spec.IPs)
	spec := field.NewPath("spec")
	problems := append(validName(spec.Child("networkRef", "name"), n.Spec.NetworkRef.Name),
		validFamilies(spec.Child("ipFamilies"), n.Spec.IPFamilies)...)
	if len(n.Spec.IPs) != len(n.Spec.IPFamilies) {
		problems = append(problems, field.Invalid(spec.Child("ips"), len(n.Spec.IPs), "one per IP family is needed"))
	}
	problems = append(problems, validIPs(spec.Child("ips"), n.Spec.IPs, n.Spec.IPFamilies)...)
	problems = append(problems, validPrefixes(spec.Child("prefixes"), n.Spec.Prefixes)...)
	if old == nil {
		return problems
	}
	for name, values := range map[string][2]any{
		"networkRef": {n.Spec.NetworkRef, old.Spec.NetworkRef},
		"ipFamilies": {n.Spec.IPFamilies, old.Spec.IPFamilies},
		"attributes": {n.Spec.Attributes, old.Spec.Attributes},
	} {
		problems = append(problems, apivalidation.ValidateImmutableField(values[0], values[1], spec.Child(name))...)
	}
	return problems
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
