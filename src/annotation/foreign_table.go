package annotation

import "slices"

// product is another product, with what the names of its annotations begin with.
type product struct{ name, prefix string }

// of returns annotations about a concept, which ask for nothing if their value is false. The names are without the
// prefix.
func (p product) of(concept Concept, names ...string) []Foreign {
	return p.unless(concept, []string{"false", "f", "0"}, names...)
}

// unless returns annotations about a concept, which ask for nothing with the harmless values.
func (p product) unless(concept Concept, harmless []string, names ...string) []Foreign {
	all := make([]Foreign, 0, len(names))
	for _, name := range names {
		all = append(all, Foreign{Name: p.prefix + name, Product: p.name, Concept: concept, Harmless: harmless})
	}
	return all
}

// foreignTable returns the annotations of other products: names that are documented, or in the source, of these
// products. Those of this program's own clouds are among them, for the other cloud. An annotation is left out if
// nothing here has its meaning and nobody misses its effect: an event for each of these would hide the events that
// matter.
func foreignTable() []Foreign {
	return slices.Concat(thalassa(), ironcore(), aws("service.beta.kubernetes.io/"), aws("service.kubernetes.io/"),
		azure(), gke(), openstack(), hetzner(), digitalocean(), scaleway(), cilium(), metallb(), oracle(),
		alibaba("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"),
		alibaba("service.beta.kubernetes.io/alicloud-loadbalancer-"), linode(), stackit(), huawei(), cloudstack(),
		yandexAndOthers())
}

func thalassa() []Foreign {
	p := product{"Thalassa Cloud", "loadbalancer.k8s.thalassa.cloud/"}
	return slices.Concat(
		p.of(AboutInternal, "internal"),
		p.unless(AboutInternal, []string{"public"}, "type"),
		p.of(AboutSources, "acl-allowed-sources", "acl-port-"),
		p.of(AboutSecurityGroups, "security-groups", "create-security-group"),
		p.of(AboutAddress, "reserved-ip"),
		p.of(AboutSubnet, "subnet"),
		p.of(AboutHealthChecks, "health-check-"),
		p.of(AboutProxyProtocol, "enable-proxy-protocol"),
		p.of(AboutIdleTimeout, "idle-connection-timeout"),
		p.of(AboutConnections, "max-connections"),
		p.unless(AboutDistribution, []string{"round_robin"}, "loadbalancing-policy"),
		p.of(AboutNodes, "node-selector"),
		p.of(AboutName, "name"),
		p.of(AboutLabels, "labels"),
		p.of(AboutSize, "instance-size"))
}

func ironcore() []Foreign {
	return product{"IronCore", "service.beta.kubernetes.io/ironcore-"}.of(AboutInternal, "load-balancer-internal")
}

// aws returns the annotations of the controller in Kubernetes' former AWS provider and of the AWS Load Balancer
// Controller, which reads them under two prefixes.
func aws(prefix string) []Foreign {
	p := product{"AWS", prefix + "aws-load-balancer-"}
	all := slices.Concat(
		// With a value like 0.0.0.0/0, the load balancer is internal, too.
		p.unless(AboutInternal, []string{"false"}, "internal"),
		p.unless(AboutInternal, []string{"internet-facing"}, "scheme"),
		p.of(AboutSources, "security-group-prefix-lists"),
		p.of(AboutSecurityGroups, "security-groups"),
		p.of(AboutAddress, "eip-allocations", "private-ipv4-addresses", "ipv6-addresses"),
		p.of(AboutSubnet, "subnets"),
		p.of(AboutHealthChecks, "healthcheck-"),
		p.of(AboutProxyProtocol, "proxy-protocol"),
		p.of(AboutIdleTimeout, "connection-idle-timeout"),
		p.of(AboutNodes, "target-node-labels"),
		p.of(AboutName, "name"),
		p.of(AboutLabels, "additional-resource-tags"),
		p.of(AboutTLS, "ssl-cert", "ssl-ports", "ssl-negotiation-policy"),
		p.unless(AboutProtocol, []string{"tcp"}, "backend-protocol"),
		p.of(AboutAccessLog, "access-log-enabled"))
	// These values are those of the AWS Load Balancer Controller, whose load balancers are internal unless the Service
	// says otherwise.
	for _, one := range p.unless(AboutInternal, []string{"nlb", "elb", "clb", "classic"}, "type") {
		for _, other := range []string{"service.beta.kubernetes.io/", "service.kubernetes.io/"} {
			one.Unless = append(one.Unless, other+"aws-load-balancer-scheme", other+"aws-load-balancer-internal")
		}
		all = append(all, one)
	}
	if prefix == "service.kubernetes.io/" { // the one under the other prefix is Kubernetes' own
		all = append(all, product{"AWS", prefix}.of(AboutSources, "load-balancer-source-ranges")...)
	}
	return all
}

func azure() []Foreign {
	p := product{"Azure", "service.beta.kubernetes.io/azure-"}
	return slices.Concat(
		p.of(AboutInternal, "load-balancer-internal"),
		p.of(AboutSources, "allowed-ip-ranges"),
		p.unless(AboutSources, []string{"internet"}, "allowed-service-tags"),
		p.of(AboutAddress, "pip-name", "pip-prefix-id", "load-balancer-ipv4", "load-balancer-ipv6"),
		p.of(AboutSubnet, "load-balancer-internal-subnet"),
		p.of(AboutHealthChecks, "load-balancer-health-probe-"),
		p.of(AboutIdleTimeout, "load-balancer-tcp-idle-timeout"),
		p.of(AboutLabels, "pip-tags"))
}

func gke() []Foreign {
	p := product{"GKE", ""}
	return slices.Concat(
		p.unless(AboutInternal, []string{"external"}, "networking.gke.io/load-balancer-type",
			"cloud.google.com/load-balancer-type"),
		p.of(AboutAddress, "networking.gke.io/load-balancer-ip-addresses"),
		p.of(AboutSubnet, "networking.gke.io/load-balancer-subnet", "networking.gke.io/internal-load-balancer-subnet"))
}

func openstack() []Foreign {
	p := product{"OpenStack", "loadbalancer.openstack.org/"}
	return slices.Concat(
		product{p.name, "service.beta.kubernetes.io/"}.of(AboutInternal, "openstack-internal-load-balancer"),
		p.of(AboutAddress, "port-id", "load-balancer-address"),
		p.of(AboutSubnet, "subnet-id", "network-id"),
		p.of(AboutHealthChecks, "health-monitor-"),
		p.of(AboutProxyProtocol, "proxy-protocol"),
		p.of(AboutIdleTimeout, "timeout-client-data", "timeout-member-data"),
		p.unless(AboutConnections, []string{"-1"}, "connection-limit"),
		p.of(AboutNodes, "node-selector"),
		p.of(AboutSize, "flavor-id"),
		p.of(AboutTLS, "default-tls-container-ref"),
		p.of(AboutProtocol, "x-forwarded-for"))
}

func hetzner() []Foreign {
	p := product{"Hetzner Cloud", "load-balancer.hetzner.cloud/"}
	return slices.Concat(
		p.of(AboutInternal, "disable-public-network"),
		p.of(AboutAddress, "private-ipv4"),
		p.of(AboutSubnet, "private-subnet-ip-range"),
		p.of(AboutHealthChecks, "health-check-"),
		p.of(AboutProxyProtocol, "uses-proxyprotocol"),
		p.unless(AboutDistribution, []string{"round_robin"}, "algorithm-type"),
		p.of(AboutNodes, "node-selector"),
		p.of(AboutAffinity, "http-sticky-sessions"),
		p.of(AboutName, "name"),
		p.of(AboutSize, "type"),
		p.of(AboutTLS, "certificate-type", "http-certificates", "http-managed-certificate-name"),
		p.unless(AboutProtocol, []string{"tcp"}, "protocol"))
}

func digitalocean() []Foreign {
	p := product{"DigitalOcean", "service.beta.kubernetes.io/do-loadbalancer-"}
	return slices.Concat(
		p.unless(AboutInternal, []string{"external"}, "network"),
		p.of(AboutSources, "allow-rules"),
		p.of(AboutDeniedSources, "deny-rules"),
		p.of(AboutHealthChecks, "healthcheck-"),
		p.of(AboutProxyProtocol, "enable-proxy-protocol"),
		p.of(AboutIdleTimeout, "http-idle-timeout-seconds"),
		p.unless(AboutDistribution, []string{"round_robin"}, "algorithm"),
		p.unless(AboutAffinity, []string{"none"}, "sticky-sessions-type"),
		p.of(AboutName, "name"),
		p.of(AboutSize, "size-unit", "size-slug"),
		p.of(AboutTLS, "certificate-id", "certificate-name", "tls-ports"),
		p.unless(AboutProtocol, []string{"tcp"}, "protocol"))
}

func scaleway() []Foreign {
	p := product{"Scaleway", "service.beta.kubernetes.io/scw-loadbalancer-"}
	return slices.Concat(
		p.of(AboutInternal, "private"),
		p.of(AboutHealthChecks, "health-check-"),
		p.of(AboutProxyProtocol, "proxy-protocol-v1", "proxy-protocol-v2"),
		p.of(AboutIdleTimeout, "timeout-client", "timeout-server"),
		p.unless(AboutDistribution, []string{"roundrobin"}, "forward-port-algorithm"),
		p.unless(AboutAffinity, []string{"none"}, "sticky-sessions"),
		p.of(AboutSize, "type"),
		p.of(AboutTLS, "certificate-ids"),
		p.of(AboutProtocol, "protocol-http"))
}

// cilium returns annotations with which Cilium serves the load balancer itself. service.cilium.io/type is not among
// them: if Cilium is the network of this cluster, it has its effect.
func cilium() []Foreign {
	p := product{"Cilium", ""}
	return slices.Concat(
		p.unless(AboutRangesPolicy, []string{"allow"}, "service.cilium.io/src-ranges-policy"),
		p.of(AboutAddress, "lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips"))
}

func metallb() []Foreign {
	return product{"MetalLB", "metallb."}.of(AboutAddress, "io/loadBalancerIPs", "io/address-pool",
		"universe.tf/loadBalancerIPs", "universe.tf/address-pool")
}

func oracle() []Foreign {
	p := product{"Oracle Cloud", "service.beta.kubernetes.io/oci-load-balancer-"}
	return slices.Concat(
		p.of(AboutInternal, "internal"),
		product{p.name, "oci-network-load-balancer.oraclecloud.com/"}.of(AboutInternal, "internal"),
		product{p.name, "oci-network-load-balancer.oraclecloud.com/"}.of(AboutSecurityGroups,
			"oci-network-security-groups"),
		product{p.name, "oci.oraclecloud.com/"}.of(AboutSecurityGroups, "oci-network-security-groups"),
		p.of(AboutSubnet, "subnet1", "subnet2"),
		p.of(AboutHealthChecks, "health-check-"),
		p.of(AboutIdleTimeout, "connection-idle-timeout"),
		p.of(AboutSize, "shape"),
		p.of(AboutTLS, "tls-secret", "ssl-ports"),
		p.unless(AboutProtocol, []string{"tcp"}, "backend-protocol"))
}

// alibaba returns annotations that have a prefix and a former one.
func alibaba(prefix string) []Foreign {
	p := product{"Alibaba Cloud", prefix}
	return slices.Concat(
		p.unless(AboutInternal, []string{"internet"}, "address-type"),
		p.unless(AboutSources, []string{"off"}, "acl-status"),
		p.of(AboutSecurityGroups, "security-group-ids"),
		p.of(AboutAddress, "ip"),
		p.of(AboutSubnet, "vswitch-id"),
		p.of(AboutHealthChecks, "health-check-"),
		p.unless(AboutProxyProtocol, []string{"off"}, "proxy-protocol"),
		p.of(AboutDistribution, "scheduler"),
		p.of(AboutName, "name"),
		p.of(AboutLabels, "additional-resource-tags"),
		p.of(AboutSize, "spec"),
		p.of(AboutTLS, "cert-id"))
}

func linode() []Foreign {
	p := product{"Linode", "service.beta.kubernetes.io/linode-loadbalancer-"}
	return slices.Concat(
		p.of(AboutSources, "firewall-acl"),
		p.of(AboutSecurityGroups, "firewall-id"),
		p.of(AboutAddress, "reserved-ipv4"),
		p.unless(AboutHealthChecks, []string{"none"}, "check-type"),
		p.unless(AboutProxyProtocol, []string{"none"}, "proxy-protocol", "default-proxy-protocol"),
		p.unless(AboutDistribution, []string{"roundrobin"}, "default-algorithm"),
		p.of(AboutLabels, "tags"))
}

// stackit returns the annotations of both controllers of STACKIT.
func stackit() []Foreign {
	p, yawol := product{"STACKIT", "lb.stackit.cloud/"}, product{"STACKIT", "yawol.stackit.cloud/"}
	return slices.Concat(
		p.of(AboutInternal, "internal-lb"),
		yawol.of(AboutInternal, "internalLB"),
		yawol.of(AboutSources, "loadBalancerSourceRanges"),
		p.of(AboutAddress, "external-address"),
		yawol.of(AboutAddress, "existingFloatingIP"),
		p.of(AboutSubnet, "listener-network"),
		p.of(AboutProxyProtocol, "tcp-proxy-protocol"),
		yawol.of(AboutProxyProtocol, "tcpProxyProtocol"),
		p.of(AboutIdleTimeout, "tcp-idle-timeout", "udp-idle-timeout"),
		yawol.of(AboutIdleTimeout, "tcpIdleTimeout", "udpIdleTimeout"),
		p.of(AboutAffinity, "session-persistence-with-source-ip"),
		p.of(AboutSize, "service-plan-id"),
		yawol.of(AboutSize, "flavorId"))
}

// huawei returns the annotations about an access control list. The ID has an effect unless the status is off.
func huawei() []Foreign {
	p := product{"Huawei Cloud", "kubernetes.io/elb."}
	all := p.unless(AboutSources, []string{"off"}, "acl-status")
	for _, one := range p.unless(AboutSources, nil, "acl-id") {
		one.Unless = []string{p.prefix + "acl-status"}
		all = append(all, one)
	}
	return all
}

// cloudstack returns annotations of Apache CloudStack, where nobody may connect if the list of networks is empty.
func cloudstack() []Foreign {
	p := product{"CloudStack", "service.beta.kubernetes.io/cloudstack-load-balancer-"}
	all := p.unless(AboutSources, nil, "source-cidrs")
	for i := range all {
		all[i].Empty = true
	}
	return all
}

// yandexAndOthers returns annotations of products of which only few are known.
func yandexAndOthers() []Foreign {
	return slices.Concat(
		product{"Yandex Cloud", "yandex.cloud/"}.unless(AboutInternal, []string{"external"}, "load-balancer-type"),
		product{"Yandex Cloud", "yandex.cloud/"}.of(AboutSubnet, "subnet-id"),
		product{"IBM Cloud", "service.kubernetes.io/ibm-load-balancer-cloud-provider-"}.unless(AboutInternal,
			[]string{"public"}, "ip-type"),
		product{"Volcengine", "service.beta.kubernetes.io/volcengine-loadbalancer-"}.unless(AboutInternal,
			[]string{"public", "internet"}, "address-type"),
		product{"Outscale", "service.beta.kubernetes.io/osc-load-balancer-"}.of(AboutInternal, "internal"),
		product{"Vultr", "service.beta.kubernetes.io/vultr-loadbalancer-"}.of(AboutSecurityGroups, "firewall-rules"),
		product{"Civo", "kubernetes.civo.com/"}.of(AboutSecurityGroups, "firewall-id"),
		product{"kube-vip", "kube-vip.io/"}.of(AboutAddress, "loadbalancerIPs"),
		product{"OVHcloud", "service.beta.kubernetes.io/ovh-loadbalancer-"}.of(AboutSources, "allowed-sources"),
		product{"Tencent Cloud", "service.cloud.tencent.com/"}.of(AboutSecurityGroups, "security-groups"),
		product{"Tencent Cloud", "service.kubernetes.io/"}.of(AboutInternal, "qcloud-loadbalancer-internal-subnetid"),
		product{"Baidu Cloud", "service.beta.kubernetes.io/"}.of(AboutInternal, "cce-load-balancer-internal-vpc"))
}
