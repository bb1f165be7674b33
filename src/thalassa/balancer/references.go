package balancer

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Lookup is the result of looking up an object of the cloud. If Err is not nil, it is not known whether it exists.
type Lookup[T any] struct {
	Object T
	Found  bool
	Err    error
}

// Names are the objects that have to be looked up before the desired state of a Service can be computed.
type Names struct {
	Subnet         string // identity or slug
	ClusterSubnet  bool   // the cluster's subnet is needed, for which the VPC is looked up
	SecurityGroups []string
	ReservedIP     string // identity, slug or address
}

// References are the objects that the Service and the configuration name, as they were looked up.
type References struct {
	VPC     Lookup[resource.VPC]    // if the cluster's subnet is needed
	Subnet  Lookup[resource.Subnet] // that the Service names
	Subnets []resource.Subnet       // all of the VPC, if Subnet is not found
	// SecurityGroups are those that the Service names, by this name. GroupNames are all of the VPC, if one is not
	// found.
	SecurityGroups map[string]Lookup[resource.SecurityGroup]
	GroupNames     []string
	ReservedIP     Lookup[resource.ReservedIP]
	Region         string // in which the reserved IP is not found; "" if it is not known
}

// resolved are the settings that name objects of the cloud, as identities. A setting is invalid if its object does not
// exist, or cannot be used.
type resolved struct {
	subnet     annotation.Setting[string]
	groups     annotation.Setting[[]string] // security groups that others made, sorted
	reservedIP annotation.Setting[string]
	// missing is why the load balancer cannot be created: an object that the Service names does not exist.
	missing error
	// failed is why an object could not be looked up; it is retried.
	failed error
}

// Names returns what has to be looked up for the Service.
func (r Request) Names() Names {
	var names Names
	subnet := r.annotations.subnet.From(r.values)
	switch {
	case subnet.Invalid:
	case subnet.Given:
		names.Subnet = subnet.Value
	default:
		names.ClusterSubnet = r.needsClusterSubnet()
	}
	names.SecurityGroups = r.annotations.securityGroups.From(r.values).Value
	names.ReservedIP = r.namedAddress().reference
	return names
}

// needsClusterSubnet reports whether a Service that names no subnet needs that of the cluster. A load balancer whose
// subnet was never changed, or cannot be changed, does not.
func (r Request) needsClusterSubnet() bool {
	balancer := r.observed.Balancer()
	return balancer == nil || lastAppliedOf(balancer.Annotations).has(settingSubnet) && !isInternal(*balancer)
}

// resolve determines the settings that name objects from the objects that were found. The notices describe missing
// objects.
func (r Request) resolve(found References) (desired, []cloud.Notice) {
	s := &resolution{Request: r, found: found}
	s.resolveSubnet()
	s.resolveGroups()
	s.resolveReservedIP()
	if err := r.observed.GroupsError; err != nil {
		s.groups.Invalid = true // the Service's own security group may be among the attached ones
		s.failed = errors.Join(s.failed, fmt.Errorf("looking for the security group of the Service: %w", err))
	}
	return s.desired, s.notices
}

// resolution is the state of one call of resolve.
type resolution struct {
	Request
	found   References
	notices []cloud.Notice
}

// refuse records that a setting cannot be applied, which makes it invalid.
func (r *resolution) refuse(invalid *bool, reason, format string, values ...any) {
	*invalid = true
	message := fmt.Sprintf(format, values...)
	r.notices = append(r.notices, settingNotice(reason, "%s", message))
	r.missing = errors.Join(r.missing, errors.New(message))
}

// fail records that the lookup for a setting failed, which makes it invalid.
func (r *resolution) fail(invalid *bool, name string, err error) {
	*invalid = true
	r.failed = errors.Join(r.failed, fmt.Errorf("looking up what annotation %s%s names: %w", label.AnnotationPrefix,
		name, err))
}

// resolveSubnet finds the subnet that the Service names; if it names none, that of the cluster, if it is needed.
func (r *resolution) resolveSubnet() {
	asked := r.annotations.subnet.From(r.values)
	r.subnet = annotation.Setting[string]{Given: asked.Given, Invalid: asked.Invalid}
	if asked.Invalid {
		r.missing = errors.Join(r.missing, fmt.Errorf("annotation %ssubnet cannot be read", label.AnnotationPrefix))
		return
	}
	if !asked.Given {
		if !r.needsClusterSubnet() {
			return
		}
		value, err := r.clusterSubnet(asked.Value)
		if r.subnet.Value, r.subnet.Invalid = value, err != nil; err != nil {
			r.failed = errors.Join(r.failed, err)
		}
		return
	}
	balancer, subnet := r.observed.Balancer(), r.found.Subnet
	switch {
	case subnet.Err != nil:
		r.fail(&r.subnet.Invalid, settingSubnet, subnet.Err)
	case !subnet.Found:
		r.refuse(&r.subnet.Invalid, reasonUnknownSubnet, textUnknownSubnet, label.AnnotationPrefix,
			r.config.VPC, asked.Value, subnetNames(r.found.Subnets))
	default:
		r.subnet.Value = subnet.Object.ID
		if balancer != nil && subnet.Object.ID != balancer.Subnet && isInternal(*balancer) {
			r.subnet.Invalid = true
			r.notices = append(r.notices, settingNotice(reasonImmutable, textInternalSubnet,
				label.AnnotationPrefix, balancer.Subnet, asked.Value))
		}
	}
}

// resolveGroups finds the security groups that the Service names.
func (r *resolution) resolveGroups() {
	asked := r.annotations.securityGroups.From(r.values)
	r.groups = annotation.Setting[[]string]{Given: asked.Given, Invalid: asked.Invalid}
	if asked.Invalid {
		r.missing = errors.Join(r.missing, errors.New("the annotation about its security groups is not valid"))
	}
	for _, ref := range asked.Value {
		group := r.found.SecurityGroups[ref]
		switch {
		case group.Err != nil:
			r.fail(&r.groups.Invalid, settingGroups, group.Err)
		case !group.Found:
			r.refuse(&r.groups.Invalid, reasonUnknownGroup, textUnknownGroup, label.AnnotationPrefix, r.config.VPC,
				ref, r.knownGroups())
		default:
			r.groups.Value = append(r.groups.Value, group.Object.ID)
		}
	}
	r.groups.Value = sorted(r.groups.Value)
}

// knownGroups lists the existing security groups for a message.
func (r *resolution) knownGroups() string {
	if len(r.found.GroupNames) == 0 {
		return ""
	}
	return "; it has " + event.Names(r.found.GroupNames)
}

// namedAddress is what a Service says about the reserved IP of its load balancer.
type namedAddress struct {
	reference string // what has to be looked up; "" if nothing
	field     string // of the Service, for messages
	address   string // in the spec; "" if there is none
	// illegible: the address in the spec is not an IP address. ignored: the address in the spec is not applied to the
	// existing load balancer, which has another one.
	illegible, ignored bool
}

// namedAddress returns what the Service says about a reserved IP, by annotation or by its address in the spec.
func (r Request) namedAddress() namedAddress {
	asked := r.annotations.reservedIP.From(r.values)
	named := namedAddress{reference: asked.Value, field: "Annotation " + label.AnnotationPrefix + settingReservedIP,
		address: strings.TrimSpace(r.service.Spec.LoadBalancerIP)}
	if asked.Invalid {
		named.reference = ""
	}
	if asked.Invalid || named.reference != "" || named.address == "" {
		return named
	}
	parsed, err := netip.ParseAddr(named.address)
	switch {
	case err != nil:
		named.illegible = true
	case !r.created:
		named.ignored = !slices.ContainsFunc(r.observed.Balancer().ExternalAddresses, func(has string) bool {
			return isAddress(has, parsed)
		})
	default:
		named.reference, named.field = named.address, "spec.loadBalancerIP"
	}
	return named
}

// resolveReservedIP sets the reserved IP that the Service names.
func (r *resolution) resolveReservedIP() {
	asked, named := r.annotations.reservedIP.From(r.values), r.namedAddress()
	r.reservedIP = annotation.Setting[string]{Given: asked.Given, Invalid: asked.Invalid}
	switch {
	case asked.Invalid:
		r.missing = errors.Join(r.missing, fmt.Errorf("annotation %sreserved-ip cannot be read",
			label.AnnotationPrefix))
	case named.illegible:
		r.reservedIP.Given = true
		r.refuse(&r.reservedIP.Invalid, reasonUnknownIP, textNoIP, named.address)
	case named.reference == "":
		r.reservedIP.Given = false
		if named.ignored {
			r.notices = append(r.notices, settingNotice(reasonImmutable, textAddressNotApplied, label.AnnotationPrefix,
				named.address))
		}
	default:
		r.reservedIP.Given = asked.Given || asked.Value == ""
		r.findReservedIP(named)
	}
}

// isAddress reports whether the text is the address, in any notation.
func isAddress(text string, address netip.Addr) bool {
	parsed, err := netip.ParseAddr(text)
	return err == nil && parsed == address
}

// findReservedIP sets the reserved IP that was found for the name, unless another object uses it.
func (r *resolution) findReservedIP(named namedAddress) {
	found, balancer, invalid := r.found.ReservedIP, r.observed.Balancer(), &r.reservedIP.Invalid
	ip, adopts := found.Object, r.annotations.adopt.From(r.values).Value
	own := balancer != nil && ip.AttachedTo == balancer.ID || balancer == nil && adopts != "" &&
		ip.AttachedTo == adopts
	r.reservedIP.Value = ip.ID
	switch {
	case found.Err != nil:
		r.fail(invalid, settingReservedIP, found.Err)
	case !found.Found:
		r.refuse(invalid, reasonUnknownIP, textUnknownIP, named.field, cmp.Or(r.found.Region, "of the VPC"),
			named.reference)
	case named.address != "" && !slices.ContainsFunc(ip.Addresses, func(has netip.Addr) bool {
		return isAddress(named.address, has)
	}):
		r.refuse(invalid, reasonConflict, textTwoAddresses, named.field, ip.ID, addressText(ip), named.address)
	case balancer != nil && isInternal(*balancer) && ip.AttachedTo != balancer.ID, balancer == nil &&
		r.internal.Value && !r.internal.Invalid:
		r.refuse(invalid, reasonUnsupported, textInternalReservedIP, named.field)
	case ip.AttachedTo != "" && !own:
		r.refuse(invalid, reasonInUse, textInUse, named.field, ip.ID, addressText(ip), ip.AttachedTo)
	}
}

func addressText(ip resource.ReservedIP) string {
	texts := make([]string, 0, len(ip.Addresses))
	for _, address := range ip.Addresses {
		texts = append(texts, address.String())
	}
	return listText(texts)
}

// listText formats a list for a sentence.
func listText(texts []string) string { return orNone(strings.Join(texts, ", ")) }

// orNone formats a value that may be empty.
func orNone(text string) string { return cmp.Or(text, "none") }

// clusterSubnet returns the identity of the subnet for new load balancers: the wanted one, else the configured one,
// else the VPC's only one, else the first one with the label.
func (r *resolution) clusterSubnet(wanted string) (string, error) {
	if err := r.found.VPC.Err; err != nil {
		return "", fmt.Errorf("choosing a subnet: %w", err)
	}
	vpc := r.found.VPC.Object
	source := "loadBalancer.defaults.subnet"
	if wanted == "" {
		wanted, source = r.config.DefaultSubnet, "defaultSubnet"
	}
	if wanted != "" {
		if subnet, found := vpc.Subnet(wanted); found {
			return subnet.ID, nil
		}
		return "", fmt.Errorf("%s %q of the cloud-config is not in VPC %s, which has %s",
			source, wanted, vpc.ID, subnetNames(vpc.Subnets))
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
		vpc.ID, subnetNames(vpc.Subnets), label.SubnetRole)
}

func subnetNames(subnets []resource.Subnet) string {
	if len(subnets) == 0 {
		return "no subnets"
	}
	list := make([]string, 0, len(subnets))
	for _, subnet := range subnets {
		list = append(list, fmt.Sprintf("%s (%s)", subnet.ID, subnet.Slug))
	}
	return "the subnets " + strings.Join(list, ", ")
}
