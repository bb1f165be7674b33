package balancer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// specOf returns the desired specification of the load balancer of a Service, which is nil if it does not exist. The
// error is for the owner of the Service: a field cannot be used.
func specOf(c Config, service *corev1.Service, internal bool,
	actual *networkingv1alpha1.LoadBalancer) (networkingv1alpha1.LoadBalancerSpec, error) {
	spec := networkingv1alpha1.LoadBalancerSpec{
		Type: networkingv1alpha1.LoadBalancerTypePublic, IPFamilies: familiesOf(service),
		NetworkRef: corev1.LocalObjectReference{Name: c.Network}, Ports: portsOf(service),
		NetworkInterfaceSelector: c.selector(),
	}
	if !internal {
		return spec, nil
	}
	var err error
	spec.Type = networkingv1alpha1.LoadBalancerTypeInternal
	spec.IPs, err = addressSources(c, service, spec.IPFamilies, inUse(service, actual))
	return spec, err
}

// familiesOf returns the IP families of a Service. Only a Service that the API server has not defaulted has none.
func familiesOf(service *corev1.Service) []corev1.IPFamily {
	if len(service.Spec.IPFamilies) == 0 {
		return []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return service.Spec.IPFamilies
}

// portsOf returns the ports of a Service, sorted. Packets arrive at network interfaces with the port of the Service:
// node ports and target ports are not used.
func portsOf(service *corev1.Service) []networkingv1alpha1.LoadBalancerPort {
	desired := cloud.Desire(cloud.Owner{}, service)
	ports := make([]networkingv1alpha1.LoadBalancerPort, len(desired.Ports))
	for i, port := range desired.Ports {
		ports[i] = networkingv1alpha1.LoadBalancerPort{Protocol: &desired.Ports[i].Protocol, Port: port.Port}
	}
	return ports
}

// addressSources returns where the addresses of an internal load balancer come from: one source per IP family. A source
// that is in use stays. IronCore allocates the others in the configured prefix, also the one in spec.loadBalancerIP: so
// it refuses an address outside of the prefix, and one that something else has.
func addressSources(c Config, service *corev1.Service, families []corev1.IPFamily,
	used []networkingv1alpha1.IPSource) ([]networkingv1alpha1.IPSource, error) {
	explicit, err := explicitAddress(service, families)
	if err != nil {
		return nil, err
	}
	var sources []networkingv1alpha1.IPSource
	for _, family := range families {
		at := slices.IndexFunc(used, func(s networkingv1alpha1.IPSource) bool { return familyOf(s) == family })
		if at >= 0 {
			sources = append(sources, used[at])
			continue
		}
		parent, err := c.parentOf(family)
		if err != nil {
			return nil, err
		}
		prefix := ipamv1alpha1.PrefixSpec{IPFamily: family, ParentRef: &corev1.LocalObjectReference{Name: parent}}
		if explicit.IsValid() && explicit.Family() == family {
			prefix.Prefix = commonv1alpha1.NewIPPrefix(netip.PrefixFrom(explicit.Addr, explicit.BitLen()))
		}
		sources = append(sources, networkingv1alpha1.IPSource{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
			PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: prefix}}})
	}
	return sources, nil
}

// parentOf returns the name of the Prefix of which internal addresses of an IP family are allocated: a Prefix has one
// family. The error is that there is none.
func (c Config) parentOf(family corev1.IPFamily) (string, error) {
	name, key := c.Prefix, "prefixName"
	if family == corev1.IPv6Protocol {
		name, key = c.PrefixIPv6, "prefixNameIPv6"
	}
	if name == "" {
		return "", fmt.Errorf("an internal load balancer with an %s address needs the key %s in the cloud-config "+
			"file, which names the Prefix of these addresses: ask the administrator of the cluster to set it, or "+
			"create the Service without %s in spec.ipFamilies", family, key, family)
	}
	return name, nil
}

// inUse returns the sources of an internal load balancer that has addresses: they do not change as long as it exists.
func inUse(service *corev1.Service, actual *networkingv1alpha1.LoadBalancer) []networkingv1alpha1.IPSource {
	if actual == nil || !isInternal(actual) || !hasClients(service, actual) {
		return nil
	}
	return actual.Spec.IPs
}

// hasClients reports whether a load balancer has, or had, an address that clients may know: the status in IronCore may
// be empty for a moment.
func hasClients(service *corev1.Service, actual *networkingv1alpha1.LoadBalancer) bool {
	return len(actual.Status.IPs) > 0 || len(service.Status.LoadBalancer.Ingress) > 0
}

func familyOf(source networkingv1alpha1.IPSource) corev1.IPFamily {
	switch {
	case source.Value != nil:
		return source.Value.Family()
	case source.Ephemeral != nil && source.Ephemeral.PrefixTemplate != nil:
		return source.Ephemeral.PrefixTemplate.Spec.IPFamily
	}
	return ""
}

// explicitAddress returns the address in spec.loadBalancerIP; the zero IP if there is none.
func explicitAddress(service *corev1.Service, families []corev1.IPFamily) (commonv1alpha1.IP, error) {
	text := service.Spec.LoadBalancerIP
	if text == "" {
		return commonv1alpha1.IP{}, nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return commonv1alpha1.IP{}, fmt.Errorf("spec.loadBalancerIP is %q: set it to an IP address, or remove it", text)
	}
	ip := commonv1alpha1.NewIP(address)
	if !slices.Contains(families, ip.Family()) {
		return commonv1alpha1.IP{}, fmt.Errorf("spec.loadBalancerIP is the %s address %s, and spec.ipFamilies of the "+
			"Service is %v: set an address of one of these families", ip.Family(), text, families)
	}
	return ip, nil
}

// unsupported returns a notice about what the Service requests and load balancers of IronCore cannot do.
func unsupported(c Config, service *corev1.Service, asked settings,
	actual *networkingv1alpha1.LoadBalancer) []cloud.Notice {
	var notices []cloud.Notice
	report := func(applies bool, format string, values ...any) {
		if applies {
			notices = append(notices, settingNotice(reasonUnsupported, format, values...))
		}
	}
	internal, known := asked.internal, asked.refused == nil
	ranges := rangesField(service)
	report(ranges != "", textNoRanges, ranges)
	report(service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP, textNoAffinity)
	report(known && !internal && service.Spec.LoadBalancerIP != "", textPublicAddress)
	address := service.Spec.LoadBalancerIP
	report(known && internal && address != "" && inUse(service, actual) != nil && !hasAddress(actual, address),
		textAddressInUse)
	report(c.Selector && service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
		textSelectorLocal)
	return notices
}

// rangesField returns the name of what limits the source addresses of a Service; "" if nothing does.
func rangesField(service *corev1.Service) string {
	switch {
	case len(service.Spec.LoadBalancerSourceRanges) > 0:
		return "spec.loadBalancerSourceRanges"
	case service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] != "":
		return "the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey
	}
	return ""
}

// hasAddress reports whether a load balancer has the address.
func hasAddress(balancer *networkingv1alpha1.LoadBalancer, address string) bool {
	return slices.ContainsFunc(balancer.Status.IPs, func(ip commonv1alpha1.IP) bool { return ip.String() == address })
}

// differing returns the fields of a specification that differ, as JSON names.
func differing(actual, wanted networkingv1alpha1.LoadBalancerSpec) []string {
	return slices.DeleteFunc([]string{"type", "ipFamilies", "ips", fieldSelector, "ports"}, func(field string) bool {
		return text(actual, field) == text(wanted, field)
	})
}

// text returns a field of a specification for people. Two fields with the same text do not differ.
func text(spec networkingv1alpha1.LoadBalancerSpec, field string) string {
	switch field {
	case "type":
		return string(spec.Type)
	case "ipFamilies":
		return fmt.Sprint(spec.IPFamilies)
	case "ips":
		return sourcesText(spec.IPs)
	case fieldSelector:
		return metav1.FormatLabelSelector(spec.NetworkInterfaceSelector)
	}
	return portsText(spec.Ports)
}

func sourcesText(sources []networkingv1alpha1.IPSource) string {
	texts := make([]string, len(sources))
	for i, source := range sources {
		texts[i] = sourceText(source)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// sourceText returns a source without what the server adds: the length of a prefix.
func sourceText(source networkingv1alpha1.IPSource) string {
	switch {
	case source.Value != nil:
		return source.Value.String()
	case source.Ephemeral == nil || source.Ephemeral.PrefixTemplate == nil:
		return ""
	}
	spec := source.Ephemeral.PrefixTemplate.Spec
	parent := "no prefix"
	if spec.ParentRef != nil {
		parent = spec.ParentRef.Name
	}
	if spec.Prefix != nil {
		return fmt.Sprintf("%s of %s", spec.Prefix.Addr(), parent)
	}
	return fmt.Sprintf("%s of %s", spec.IPFamily, parent)
}

// portsText returns ports, sorted: "[80/TCP 443/TCP]". A port without a protocol is of TCP.
func portsText(ports []networkingv1alpha1.LoadBalancerPort) string {
	sorted := slices.Clone(ports)
	protocol := func(p networkingv1alpha1.LoadBalancerPort) corev1.Protocol {
		if p.Protocol == nil {
			return corev1.ProtocolTCP
		}
		return *p.Protocol
	}
	slices.SortStableFunc(sorted, func(a, b networkingv1alpha1.LoadBalancerPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(protocol(a), protocol(b)))
	})
	texts := make([]string, len(sorted))
	for i, port := range sorted {
		texts[i] = strconv.Itoa(int(port.Port))
		if port.EndPort != nil && *port.EndPort != port.Port {
			texts[i] += "-" + strconv.Itoa(int(*port.EndPort))
		}
		texts[i] += "/" + string(protocol(port))
	}
	return "[" + strings.Join(texts, " ") + "]"
}
