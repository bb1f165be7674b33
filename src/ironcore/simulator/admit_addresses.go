package simulator

import (
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setFamilies sets the defaults that IP families and addresses have of each other.
func setFamilies(families *[]corev1.IPFamily, ips []networkingv1alpha1.IPSource) {
	given := len(*families)
	for i, ip := range ips {
		if given == 0 && (ip.Value != nil || ip.Ephemeral != nil) {
			*families = append(*families, familyOf(ip))
		}
		if ip.Ephemeral == nil || ip.Ephemeral.PrefixTemplate == nil {
			continue
		}
		spec := &ip.Ephemeral.PrefixTemplate.Spec
		if spec.IPFamily == "" && given == len(ips) {
			spec.IPFamily = (*families)[i]
		}
		if spec.IPFamily == "" && spec.Prefix != nil {
			spec.IPFamily = familyOf(ip)
		}
		if spec.Prefix == nil && spec.PrefixLength == 0 && spec.IPFamily != "" {
			spec.PrefixLength = bits(spec.IPFamily)
		}
	}
}

func bits(f corev1.IPFamily) int32 {
	if f == corev1.IPv6Protocol {
		return 128
	}
	return 32
}

// familyOf returns the IP family of an address; "" if it is not known.
func familyOf(ip networkingv1alpha1.IPSource) corev1.IPFamily {
	switch {
	case ip.Value != nil:
		return ip.Value.Family()
	case ip.Ephemeral == nil || ip.Ephemeral.PrefixTemplate == nil:
		return ""
	}
	spec := ip.Ephemeral.PrefixTemplate.Spec
	if spec.IPFamily == "" && spec.Prefix != nil && spec.Prefix.Addr().Is6() {
		return corev1.IPv6Protocol
	}
	if spec.IPFamily == "" && spec.Prefix != nil {
		return corev1.IPv4Protocol
	}
	return spec.IPFamily
}

func validFamilies(path *field.Path, families []corev1.IPFamily) (problems field.ErrorList) {
	if len(families) == 0 {
		problems = append(problems, field.Required(path, "at least one IP family is needed"))
	}
	seen := map[corev1.IPFamily]bool{}
	for i, f := range families {
		if seen[f] {
			problems = append(problems, field.Duplicate(path.Index(i), f))
		}
		seen[f] = true
		problems = append(problems, validFamily(path.Index(i), f)...)
	}
	return problems
}

func validFamily(path *field.Path, family corev1.IPFamily) field.ErrorList {
	return validEnum(path, family, corev1.IPv4Protocol, corev1.IPv6Protocol)
}

// validIPs checks that each address has the IP family at its index.
func validIPs(
	path *field.Path, ips []networkingv1alpha1.IPSource, families []corev1.IPFamily,
) (problems field.ErrorList) {
	for i, ip := range ips {
		at, family := path.Index(i), corev1.IPFamily("")
		if i < len(families) {
			family = families[i]
		}
		if ip.Value != nil && ip.Value.Family() != family {
			problems = append(problems, field.Invalid(at.Child("value"), ip.Value.String(), "is of another IP family"))
		}
		problems = append(problems, validSource(at, ip.Value != nil, ip.Ephemeral)...)
		if ip.Value == nil && ip.Ephemeral != nil {
			problems = append(problems, validAddressTemplate(at.Child("ephemeral", "prefixTemplate"),
				ip.Ephemeral.PrefixTemplate, family)...)
		}
	}
	return problems
}

// validSource checks that there is one source; fixed means that there is a value.
func validSource(path *field.Path, fixed bool, source *networkingv1alpha1.EphemeralPrefixSource) field.ErrorList {
	switch {
	case fixed && source != nil:
		return field.ErrorList{field.Invalid(path.Child("ephemeral"), "", "there is a value")}
	case !fixed && source == nil:
		return field.ErrorList{field.Invalid(path, "", "a value, or ephemeral is needed")}
	}
	return nil
}

func validPrefixes(path *field.Path, prefixes []networkingv1alpha1.PrefixSource) (problems field.ErrorList) {
	for i, p := range prefixes {
		problems = append(problems, validSource(path.Index(i), p.Value != nil, p.Ephemeral)...)
		if p.Value == nil && p.Ephemeral != nil {
			problems = append(problems, validTemplate(path.Index(i).Child("ephemeral"), p.Ephemeral.PrefixTemplate)...)
		}
	}
	return problems
}

// validAddressTemplate checks the template of a prefix that has to be one address of an IP family.
func validAddressTemplate(
	path *field.Path, template *ipamv1alpha1.PrefixTemplateSpec, family corev1.IPFamily,
) field.ErrorList {
	problems := validTemplate(path, template)
	if template == nil {
		return problems
	}
	spec := path.Child("spec")
	if template.Spec.IPFamily != family {
		problems = append(problems, field.Forbidden(spec.Child("ipFamily"), "must be the IP family at its index"))
	}
	if p := template.Spec.Prefix; p != nil && !p.IsSingleIP() {
		problems = append(problems, field.Forbidden(spec.Child("prefix"), "must be a single address"))
	}
	if length := template.Spec.PrefixLength; length != 0 && length != bits(family) {
		problems = append(problems, field.Forbidden(spec.Child("prefixLength"), "must be that of a single address"))
	}
	return problems
}

// validTemplate checks the template of a prefix.
func validTemplate(path *field.Path, template *ipamv1alpha1.PrefixTemplateSpec) field.ErrorList {
	if template == nil {
		return field.ErrorList{field.Required(path, "a template is needed")}
	}
	at, spec := path.Child("spec"), template.Spec
	problems := validFamily(at.Child("ipFamily"), spec.IPFamily)
	if spec.Prefix != nil && spec.Prefix.IP().Family() != spec.IPFamily {
		problems = append(problems, field.Invalid(at.Child("prefix"), spec.Prefix.String(), "is of another IP family"))
	}
	if spec.PrefixLength < 0 || spec.PrefixLength > bits(spec.IPFamily) ||
		spec.PrefixLength > 0 && spec.IPFamily == "" {
		problems = append(problems, field.Invalid(at.Child("prefixLength"), spec.PrefixLength, "is no length"))
	}
	root := spec.ParentRef == nil && spec.ParentSelector == nil
	switch {
	case root && spec.PrefixLength != 0:
		problems = append(problems, field.Invalid(at.Child("prefixLength"), spec.PrefixLength, "there is no parent"))
	case !root && spec.Prefix == nil && spec.PrefixLength == 0:
		problems = append(problems, field.Invalid(at, "", "a prefix or a length is needed"))
	}
	if root && spec.Prefix == nil {
		problems = append(problems, field.Required(at.Child("prefix"), "a prefix without a parent needs one"))
	}
	return problems
}
