package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setFamilies sets the defaults that IP families and addresses have of each other.
func setFamilies(families *[]corev1.IPFamily, ips []networkingv1alpha1.IPSource) {
	given := len(*families)
	for i, ip := range ips {
		if given == 0 {
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
		if f != corev1.IPv4Protocol && f != corev1.IPv6Protocol {
			problems = append(problems, field.NotSupported(path.Index(i), f,
				[]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}))
		}
	}
	return problems
}

// validIPs checks that each address has the IP family at its index.
func validIPs(
	path *field.Path, ips []networkingv1alpha1.IPSource, families []corev1.IPFamily,
) (problems field.ErrorList) {
	for i, ip := range ips {
		at := path.Index(i)
		if (ip.Value == nil) == (ip.Ephemeral == nil) {
			problems = append(problems, field.Forbidden(at, "exactly one of value and ephemeral is needed"))
			continue
		}
		if i >= len(families) || familyOf(ip) != families[i] {
			problems = append(problems, field.Forbidden(at, "must be of the IP family at its index"))
		}
		if ip.Ephemeral != nil {
			problems = append(problems, validTemplate(at.Child("ephemeral", "prefixTemplate"), ip.Ephemeral, true)...)
		}
	}
	return problems
}

func validPrefixes(path *field.Path, prefixes []networkingv1alpha1.PrefixSource) (problems field.ErrorList) {
	for i, p := range prefixes {
		at := path.Index(i)
		if (p.Value == nil) == (p.Ephemeral == nil) {
			problems = append(problems, field.Forbidden(at, "exactly one of value and ephemeral is needed"))
		} else if p.Ephemeral != nil {
			problems = append(problems, validTemplate(at.Child("ephemeral", "prefixTemplate"), p.Ephemeral, false)...)
		}
	}
	return problems
}

// validTemplate checks the template of an ephemeral prefix; single means that it must be one address.
func validTemplate(
	path *field.Path, source *networkingv1alpha1.EphemeralPrefixSource, single bool,
) (problems field.ErrorList) {
	if source.PrefixTemplate == nil {
		return field.ErrorList{field.Required(path, "a template is needed")}
	}
	spec := source.PrefixTemplate.Spec
	if spec.IPFamily == "" {
		problems = append(problems, field.Required(path.Child("spec", "ipFamily"), "an IP family is needed"))
	}
	root := spec.ParentRef == nil && spec.ParentSelector == nil
	if root && spec.Prefix == nil {
		problems = append(problems, field.Required(path.Child("spec", "prefix"), "a prefix without a parent needs one"))
	}
	if single && (spec.Prefix != nil && !spec.Prefix.IsSingleIP() ||
		spec.PrefixLength != 0 && spec.PrefixLength != bits(spec.IPFamily)) {
		problems = append(problems, field.Forbidden(path.Child("spec"), "must be a single address"))
	}
	return problems
}
