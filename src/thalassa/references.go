package thalassa

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// references are the settings that name objects of the cloud, as identities. A setting is invalid if its object does
// not exist, or cannot be used.
type references struct {
	subnet     annotation.Setting[string]
	groups     annotation.Setting[[]string] // security groups that others made, sorted
	reservedIP annotation.Setting[string]
	// nodeGroup is the security group of the nodes, nil when no rules are made there.
	nodeGroup *resource.SecurityGroup
	// nodeSources are the networks from which the load balancer connects to nodes: those of its subnet.
	nodeSources []netip.Prefix
	// missing is why the load balancer cannot be created: an object that the Service names does not exist.
	missing error
	// failed is why an object could not be looked up; it is retried.
	failed error
}

// resolve looks up the objects that the Service names. The notices describe missing objects.
func (b *balancers) resolve(ctx context.Context, service *corev1.Service, s settings,
	o observed) (references, []cloud.Notice) {
	r := &resolution{from: b, ctx: ctx, settings: s, balancer: o.balancer()}
	r.resolveSubnet()
	r.resolveGroups()
	r.resolveReservedIP(service)
	r.resolveNodes()
	if o.groupsError != nil {
		r.groups.Invalid = true // the Service's own security group may be among the attached ones
		r.failed = errors.Join(r.failed, fmt.Errorf("looking for the security group of the Service: %w", o.groupsError))
	}
	return r.references, r.notices
}

// resolveNodes finds the security group of the nodes, and the networks of the load balancer's subnet.
func (r *resolution) resolveNodes() {
	asked := r.settings.annotations.openNodePorts.From(r.settings.values)
	group, err := r.from.nodeGroup(r.ctx)
	if err != nil && asked.Value {
		r.failed = errors.Join(r.failed, err)
	}
	if r.nodeGroup = group; group == nil {
		if err == nil && asked.Asked() && asked.Value {
			r.notices = append(r.notices, settingNotice(reasonUnsupported, fmt.Sprintf(
				"Annotation %sopen-node-ports: the cluster's cloud-config does not name a security group of the "+
					"nodes, so no rules are made. Set loadBalancer.nodeSecurityGroup there.", label.AnnotationPrefix)))
		}
		return
	}
	home := r.subnet.Value
	if r.balancer != nil && (home == "" || r.subnet.Invalid || isInternal(*r.balancer)) {
		home = r.balancer.Subnet
	}
	subnet, _, _, err := r.from.inventory.Subnet(r.ctx, home)
	if err != nil {
		r.failed = errors.Join(r.failed, err)
	}
	r.nodeSources = subnet.CIDRs
}

// resolution is the state of one call of resolve.
type resolution struct {
	references

	from     *balancers
	ctx      context.Context
	settings settings
	balancer *resource.LoadBalancer // nil: there is none yet
	notices  []cloud.Notice
}

// refuse records that a setting cannot be applied.
func (r *resolution) refuse(reason, format string, values ...any) {
	message := fmt.Sprintf(format, values...)
	r.notices = append(r.notices, settingNotice(reason, message))
	r.missing = errors.Join(r.missing, errors.New(message))
}

// fail records that a lookup failed.
func (r *resolution) fail(name string, err error) {
	r.failed = errors.Join(r.failed, fmt.Errorf("looking up what annotation %s%s names: %w", label.AnnotationPrefix,
		name,
		err))
}

// resolveSubnet finds the subnet that the Service names; if it names none, that of the cluster, if it is needed.
func (r *resolution) resolveSubnet() {
	asked := r.settings.annotations.subnet.From(r.settings.values)
	r.subnet = annotation.Setting[string]{Given: asked.Given, Invalid: asked.Invalid}
	if asked.Invalid {
		r.missing = errors.Join(r.missing, fmt.Errorf("annotation %ssubnet cannot be read", label.AnnotationPrefix))
		return
	}
	if !asked.Given {
		if r.balancer != nil && (!lastAppliedOf(r.balancer.Annotations).has(settingSubnet) || isInternal(*r.balancer)) {
			return // the subnet was never changed, or cannot be changed
		}
		value, err := r.from.subnet(r.ctx, asked.Value)
		if r.subnet.Value, r.subnet.Invalid = value, err != nil; err != nil {
			r.failed = errors.Join(r.failed, err)
		}
		return
	}
	subnet, found, known, err := r.from.inventory.Subnet(r.ctx, asked.Value)
	switch {
	case err != nil:
		r.subnet.Invalid = true
		r.fail(settingSubnet, err)
	case !found:
		r.subnet.Invalid = true
		r.refuse(reasonUnknownSubnet, "Annotation %ssubnet: VPC %s has no subnet %q; it has %s.",
			label.AnnotationPrefix,
			r.from.config.VPCIdentity, asked.Value, names(known))
	default:
		r.subnet.Value = subnet.ID
		if r.balancer != nil && subnet.ID != r.balancer.Subnet && isInternal(*r.balancer) {
			r.subnet.Invalid = true
			r.notices = append(r.notices, settingNotice(reasonImmutable, fmt.Sprintf(
				"Annotation %ssubnet: an internal load balancer cannot be moved to another subnet, and stays in %s. "+
					"To use %s, delete the Service and create it again; its address then changes.",
				label.AnnotationPrefix, r.balancer.Subnet, asked.Value)))
		}
	}
}

// resolveGroups finds the security groups that the Service names.
func (r *resolution) resolveGroups() {
	asked := r.settings.annotations.securityGroups.From(r.settings.values)
	r.groups = annotation.Setting[[]string]{Given: asked.Given, Invalid: asked.Invalid}
	if asked.Invalid {
		r.missing = errors.Join(r.missing, fmt.Errorf("annotation %ssecurity-groups cannot be read",
			label.AnnotationPrefix))
	}
	for _, ref := range asked.Value {
		group, found, err := r.from.inventory.SecurityGroup(r.ctx, ref, r.from.config.Inventory.MaxBalancerAge())
		switch {
		case err != nil:
			r.groups.Invalid = true
			r.fail(settingGroups, err)
		case !found:
			r.groups.Invalid = true
			r.refuse(reasonUnknownGroup, "Annotation %ssecurity-groups: VPC %s has no security group %q%s. Its "+
				"security groups do not change, and no new port is opened.",
				label.AnnotationPrefix, r.from.config.VPCIdentity, ref, r.knownGroups())
		default:
			r.groups.Value = append(r.groups.Value, group.ID)
		}
	}
	r.groups.Value = sorted(r.groups.Value)
}

// knownGroups lists the existing security groups for a message.
func (r *resolution) knownGroups() string {
	known, err := r.from.inventory.SecurityGroupNames(r.ctx)
	if err != nil || len(known) == 0 {
		return ""
	}
	return "; it has " + list.Short(known)
}

// resolveReservedIP finds the reserved IP that the Service names, by annotation or by its address in the spec.
func (r *resolution) resolveReservedIP(service *corev1.Service) {
	asked, field := r.settings.annotations.reservedIP.From(r.settings.values), "Annotation "+label.AnnotationPrefix+
		settingReservedIP
	r.reservedIP = annotation.Setting[string]{Given: asked.Given, Invalid: asked.Invalid}
	if asked.Invalid {
		r.missing = errors.Join(r.missing, fmt.Errorf("annotation %sreserved-ip cannot be read",
			label.AnnotationPrefix))
		return
	}
	ref, address := asked.Value, strings.TrimSpace(service.Spec.LoadBalancerIP)
	switch {
	case ref == "" && address == "":
		r.reservedIP.Given = false
		return
	case ref == "":
		parsed, err := netip.ParseAddr(address)
		if err != nil {
			r.reservedIP = annotation.Setting[string]{Given: true, Invalid: true}
			r.refuse(reasonUnknownIP,
				"spec.loadBalancerIP: %q is not an IP address; give the address of a reserved IP, or remove it.",
				address)
			return
		}
		if r.legacy() {
			r.reservedIP.Given = false
			if slices.ContainsFunc(r.balancer.ExternalAddresses, func(has string) bool {
				return isAddress(has, parsed)
			}) {
				return // the load balancer has this address
			}
			r.notices = append(r.notices, settingNotice(reasonImmutable, fmt.Sprintf(
				"spec.loadBalancerIP is not applied to a load balancer that this program did not create, because its "+
					"address would change. To change the address, set %sreserved-ip: %q.", label.AnnotationPrefix,
				address)))
			return
		}
		ref, field, r.reservedIP.Given = address, "spec.loadBalancerIP", true
	}
	ip, found, err := r.from.inventory.ReservedIP(r.ctx, ref, r.from.config.Inventory.MaxBalancerAge())
	if free := r.balancer != nil && ip.AttachedTo == r.balancer.ID || ip.AttachedTo == ""; err == nil && found &&
		!free {
		ip, found, err = r.from.inventory.ReservedIP(r.ctx, ref, r.from.fresh()) // it may have been detached recently
	}
	switch {
	case err != nil:
		r.reservedIP.Invalid = true
		r.fail(settingReservedIP, err)
	case !found:
		r.reservedIP.Invalid = true
		r.refuse(reasonUnknownIP, "%s: region %s has no reserved IP %q. Reserve one in the cloud and name it here, "+
			"by identity, slug or address.", field, r.region(), ref)
	default:
		r.useReservedIP(ip, field, address)
	}
}

// isAddress reports whether the text is the address, in any notation.
func isAddress(text string, address netip.Addr) bool {
	parsed, err := netip.ParseAddr(text)
	return err == nil && parsed == address
}

// legacy reports whether a load balancer exists that this program did not create.
func (r *resolution) legacy() bool {
	return r.balancer != nil && !lastAppliedOf(r.balancer.Annotations).created
}

// useReservedIP sets the reserved IP, unless another object uses it.
func (r *resolution) useReservedIP(ip resource.ReservedIP, field, address string) {
	adopts := r.settings.annotations.adopt.From(r.settings.values).Value
	own := r.balancer != nil && ip.AttachedTo == r.balancer.ID || r.balancer == nil && adopts != "" &&
		ip.AttachedTo == adopts
	differs := address != "" && !slices.ContainsFunc(ip.Addresses, func(has netip.Addr) bool {
		return isAddress(address, has)
	})
	switch r.reservedIP.Value = ip.ID; {
	case differs:
		r.reservedIP.Invalid = true
		r.refuse(reasonConflict, "%s names %s (%s), but spec.loadBalancerIP is %s. Remove one of the two.", field,
			ip.ID, addressText(ip), address)
	case r.balancer != nil && isInternal(*r.balancer) && ip.AttachedTo != r.balancer.ID, r.balancer == nil &&
		r.settings.internal.Value && !r.settings.internal.Invalid:
		r.reservedIP.Invalid = true
		r.refuse(reasonUnsupported, "%s: an internal load balancer cannot have a reserved IP, which is a public "+
			"address. Remove one of the two.", field)
	case ip.AttachedTo != "" && !own:
		r.reservedIP.Invalid = true
		r.refuse(reasonInUse, "%s: reserved IP %s (%s) is attached to %s. Detach it there, or name another one. It "+
			"is retried automatically.", field, ip.ID, addressText(ip), ip.AttachedTo)
	}
}

func (r *resolution) region() string {
	vpc, err := r.from.inventory.VPC(r.ctx)
	if err != nil {
		return "of the VPC"
	}
	return vpc.Region
}

func addressText(ip resource.ReservedIP) string {
	texts := make([]string, 0, len(ip.Addresses))
	for _, address := range ip.Addresses {
		texts = append(texts, address.String())
	}
	return listText(texts)
}

// listText formats a list for a sentence.
func listText(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// orNone formats a value that may be empty.
func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// subnet returns the identity of the subnet for new load balancers: the wanted one, else the configured one, else the
// VPC's only one, else the first one with the label.
func (b *balancers) subnet(ctx context.Context, wanted string) (string, error) {
	vpc, err := b.inventory.VPC(ctx)
	if err != nil {
		return "", fmt.Errorf("choosing a subnet: %w", err)
	}
	source := "loadBalancer.defaults.subnet"
	if wanted == "" {
		wanted, source = b.config.DefaultSubnet, "defaultSubnet"
	}
	if wanted != "" {
		for _, subnet := range vpc.Subnets {
			if subnet.ID == wanted || subnet.Slug == wanted {
				return subnet.ID, nil
			}
		}
		return "", fmt.Errorf("%s %q of the cloud-config is not in VPC %s, which has %s",
			source, wanted, vpc.ID, names(vpc.Subnets))
	}
	if len(vpc.Subnets) == 1 {
		return vpc.Subnets[0].ID, nil
	}
	for _, subnet := range vpc.Subnets {
		if slices.Contains([]string{"true", "1", "yes"}, subnet.Labels[label.SubnetRole]) {
			return subnet.ID, nil
		}
	}
	return "", fmt.Errorf("VPC %s has %s: set defaultSubnet in the cloud-config, or label one of them %s=true",
		vpc.ID, names(vpc.Subnets), label.SubnetRole)
}

func names(subnets []resource.Subnet) string {
	if len(subnets) == 0 {
		return "no subnets"
	}
	list := make([]string, 0, len(subnets))
	for _, subnet := range subnets {
		list = append(list, fmt.Sprintf("%s (%s)", subnet.ID, subnet.Slug))
	}
	return "the subnets " + strings.Join(list, ", ")
}
