package thalassa

import (
	"github.com/thalassa-cloud/client-go/iaas"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// Headings of the reference page.
const (
	topicReach  = "Addresses"
	topicPorts  = "Traffic"
	topicHealth = "Health checks"
	topicAccess = "Access"
	topicObject = "The load balancer"
)

// since is the version that knows the annotations.
const since = "0.1.0"

// identityWord is an annotation with the name of one object in the cloud.
func identityWord(what string) annotation.Kind[string] {
	return annotation.Word(identityPattern, what+identityLetters)
}

// registerReach adds what is about where a load balancer is reached.
func (a *annotations) registerReach() {
	r := a.registry
	a.kind = annotation.Register(r, annotation.Definition{
		Name: nameType, Topic: topicReach, Since: since, Example: typeInternal,
		Effect: "Where the load balancer is reachable from: public gives it an address on the internet, internal one of its subnet only. " +
			"Decided when the load balancer is created.",
	}, annotation.Enum(typePublic, typeInternal), typePublic)
	a.internal = annotation.Register(r, annotation.Definition{
		Name: nameInternal, Topic: topicReach, Since: since, Example: "true",
		Effect: "With true the same as type: internal, whatever type says.",
	}, annotation.Bool(), false)
	a.subnet = annotation.Register(r, annotation.Definition{
		Name: "subnet", Topic: topicReach, Since: since, Example: "subnet-0123456789",
		Effect:  "The subnet of the load balancer. Only a public one can be moved to another.",
		Without: "the subnet of the cloud-config",
	}, identityWord("the identity or slug of a subnet in the cluster's VPC"), "")
	a.reservedIP = annotation.Register(r, annotation.Definition{
		Name: "reserved-ip", Topic: topicReach, Since: since, Example: "rip-0123456789", OneService: true,
		Effect: "The reserved IP that the load balancer has as its address. Empty text and removal take away the one that this " +
			"annotation gave, and no other.",
		Without: "an address of the cloud's choice",
	}, annotation.Word(`(?:[0-9A-Za-z][0-9A-Za-z._:-]*)?`, "the identity, slug or address of a reserved IP, or empty"), "")
	a.publish = annotation.Register(r, annotation.Definition{
		Name: "publish", Topic: topicReach, Since: since, Example: publishHostname,
		Effect: "What the Service's status shows: the addresses of the load balancer, its host name, or both.",
	}, annotation.Enum(publishIP, publishHostname, publishBoth), publishBoth)
}

// registerTraffic adds what is about connections and datagrams on their way to the pods.
func (a *annotations) registerTraffic() {
	r := a.registry
	a.policy = annotation.Register(r, annotation.Definition{
		Name: "loadbalancing-policy", Topic: topicPorts, Since: since, Example: string(iaas.LoadbalancingPolicyMagLev), PerPort: true,
		Effect: "How connections are spread over the nodes; MAGLEV keeps a client on the same node.",
	}, annotation.Enum(string(iaas.LoadbalancingPolicyRoundRobin), string(iaas.LoadbalancingPolicyRandom), string(iaas.LoadbalancingPolicyMagLev)),
		string(iaas.LoadbalancingPolicyRoundRobin))
	a.proxyProtocol = annotation.Register(r, annotation.Definition{
		Name: "enable-proxy-protocol", Topic: topicPorts, Since: since, Example: "true", PerPort: true,
		Effect: "Sends the client's address to the pods in a PROXY protocol header, which they must understand.",
	}, annotation.Bool(), false)
	a.maxConnections = annotation.Register(r, annotation.Definition{
		Name: "max-connections", Topic: topicPorts, Since: since, Example: "20000", PerPort: true,
		Effect: "How many connections one port of the load balancer accepts at a time.",
	}, annotation.Int(1, maxConnectionsLimit, "connections"), 10000)
	a.idleTimeout = annotation.Register(r, annotation.Definition{
		Name: "idle-connection-timeout", Topic: topicPorts, Since: since, Example: "600", PerPort: true,
		Effect: "After how many seconds without traffic a connection is closed.",
	}, annotation.Int(1, maxIdleSeconds, "seconds"), 6000)
	a.nodeSelector = annotation.Register(r, annotation.Definition{
		Name: nameNodeSelector, Topic: topicPorts, Since: since, OneService: true, Example: "node-role.example.com/edge=true",
		Effect: "Which nodes get the traffic: those whose labels match. Empty text is every node. When no node matches, the nodes stay " +
			"those they were.",
		Without: "every node",
	}, annotation.Selector(), labels.Everything())
}

// register adds what is about health checks.
func (h *healthKeys) register(r *annotation.Registry) {
	define := func(name, example, effect, without string) annotation.Definition {
		return annotation.Definition{
			Name: "health-check-" + name, Topic: topicHealth, Since: since, Example: example, Effect: effect, Without: without, PerPort: true,
		}
	}
	h.enabled = annotation.Register(r, define("enabled", "false",
		"Checks every node, and sends traffic only to those that answer. A UDP port is checked only when it is told how, by "+
			"health-check-port.", ""), annotation.Bool(), true)
	h.port = annotation.Register(r, define("port", "30080",
		"The port of the nodes that is checked, also for Services with externalTrafficPolicy: Local.",
		"the node port of the load balancer's port; with externalTrafficPolicy: Local, spec.healthCheckNodePort"),
		annotation.Int(1, 65535, ""), 0)
	h.protocol = annotation.Register(r, define("protocol", "tcp",
		"How a node is checked: tcp opens a connection, http and https also expect a good answer to a request for the path, "+
			"udp sends a datagram.",
		"http when health-check-port is given, and with externalTrafficPolicy: Local; else tcp"),
		annotation.Enum("http", "https", "tcp", "udp"), "")
	h.path = annotation.Register(r, define("path", "/ready",
		"The path that http and https ask for.", ""),
		annotation.Word(`/[!-~]{0,254}`, "a path that begins with a slash, of at most 255 characters and without blanks"), "/healthz")
	h.interval = annotation.Register(r, define("interval", "15",
		"How many seconds there are from one check of a node to the next.", ""), annotation.Int(5, 300, "seconds"), 10)
	h.timeout = annotation.Register(r, define("timeout", "3",
		"After how many seconds without an answer a check has failed.", ""), annotation.Int(1, 300, "seconds"), 5)
	h.up = annotation.Register(r, define("up-threshold", "1",
		"After how many good checks in a row a node gets traffic again.", ""), annotation.Int(1, 10, "checks"), 2)
	h.down = annotation.Register(r, define("down-threshold", "2",
		"After how many failed checks in a row a node gets no more traffic.", ""), annotation.Int(1, 10, "checks"), 3)
}

// registerAccess adds what is about who may reach a load balancer, and what the load balancer may reach.
func (a *annotations) registerAccess() {
	r := a.registry
	a.allowedSources = annotation.Register(r, annotation.Definition{
		Name: nameAllowedSources, Topic: topicAccess, Since: since, Example: "203.0.113.0/24,2001:db8::/32",
		Effect:  "Who may connect to every port, together with spec.loadBalancerSourceRanges. Empty text adds nobody to them.",
		Without: "everybody, unless spec.loadBalancerSourceRanges or an acl-port- annotation of the port says less",
	}, annotation.Sources(), nil)
	a.portSources = annotation.RegisterFamily(r, annotation.Definition{
		Name: "acl-port-", Topic: topicAccess, Since: since, Example: "198.51.100.7",
		Effect: "Who may connect to this port, beside those of acl-allowed-sources and spec.loadBalancerSourceRanges. When these say " +
			"nothing, nobody else.",
		Without: "those of acl-allowed-sources",
	}, annotation.Sources())
	a.securityGroups = annotation.Register(r, annotation.Definition{
		Name: "security-groups", Topic: topicAccess, Since: since, Example: "sg-0123456789",
		Effect: "Security groups of the VPC that the load balancer has, beside those that others gave it. Empty text and removal take " +
			"away those that this annotation gave.",
		Without: "none",
	}, annotation.Names(maxGroups), nil)
	a.createSecurityGroup = annotation.Register(r, annotation.Definition{
		Name: nameCreateGroup, Topic: topicAccess, Since: since, Example: "true",
		Effect: "Makes a security group for the load balancer that lets in what the Service's ports and sources allow, and keeps it so. " +
			"With false or without the annotation it is removed.",
	}, annotation.Bool(), false)
	a.allowICMP = annotation.Register(r, annotation.Definition{
		Name: "security-group-allow-icmp", Topic: topicAccess, Since: since, Example: "true",
		Effect: "Lets pings through the security group that create-security-group makes.",
	}, annotation.Bool(), false)
	a.icmpSources = annotation.Register(r, annotation.Definition{
		Name: "security-group-icmp-allowed-sources", Topic: topicAccess, Since: since, Example: "10.0.0.0/8",
		Effect:  "Who may ping, with security-group-allow-icmp. Empty text is nobody.",
		Without: "those of acl-allowed-sources",
	}, annotation.Sources(), nil)
	a.openNodePorts = annotation.Register(r, annotation.Definition{
		Name: "open-node-ports", Topic: topicAccess, Since: since, Example: "true",
		Effect: "Adds rules to the nodes' own security group, loadBalancer.nodeSecurityGroup of the cloud-config, that let the Service's node ports be reached, and removes them when they " +
			"are not needed any more.",
	}, annotation.Bool(), false)
}

// registerObject adds what is about the load balancer as an object in the cloud.
func (a *annotations) registerObject() {
	r := a.registry
	a.name = annotation.Register(r, annotation.Definition{
		Name: "name", Topic: topicObject, Since: since, Example: "shop", OneService: true,
		Effect:  "What the load balancer is called. A name is for people; which load balancer is whose depends on its labels.",
		Without: "a name made of the Service's UID",
	}, annotation.Word(`[!-~](?:[ -~]{0,60}[!-~])?`, "a name of 1 to 62 printable ASCII characters"), "")
	a.labels = annotation.Register(r, annotation.Definition{
		Name: "labels", Topic: topicObject, Since: since, Example: "team=shop,stage=production",
		Effect: "Labels of the load balancer, beside those of the cloud-config and our own. One that is not named any more is removed, " +
			"if this annotation gave it.",
		Without: "none",
	}, annotation.Pairs(labelReserved), nil)
	a.instanceSize = annotation.Register(r, annotation.Definition{
		Name: "instance-size", Topic: topicObject, Since: since, Example: "lb-gp-large",
		Effect:  "The size of the load balancer, as the cloud calls it. Removal keeps the size: the cloud has no word for its own choice.",
		Without: "the size that the cloud gives",
	}, identityWord("a size of load balancers"), "")
	a.deleteProtection = annotation.Register(r, annotation.Definition{
		Name: "delete-protection", Topic: topicObject, Since: since, Example: "true",
		Effect: "Makes the cloud refuse to delete the load balancer, whoever asks. A Service that is deleted waits until this is taken away.",
	}, annotation.Bool(), false)
	a.onDelete = annotation.Register(r, annotation.Definition{
		Name: "on-delete", Topic: topicObject, Since: since, Example: onDeleteKeep,
		Effect: "What becomes of the load balancer when the Service is deleted, or is no longer of type LoadBalancer: delete removes it with " +
			"everything made for it; keep leaves it as it is, with its address, and it can be adopted.",
	}, annotation.Enum(onDeleteDelete, onDeleteKeep), onDeleteDelete)
	a.adopt = annotation.Register(r, annotation.Definition{
		Name: "adopt", Topic: topicObject, Since: since, Example: "lb-0123456789", OneService: true,
		Effect: "Takes over this load balancer instead of making one. The load balancer has to say so, too, by its own annotation " +
			annotationAdoptable + "=<cluster>/<namespace>/<name> in the cloud.",
		Without: "a load balancer is made",
	}, identityWord("the identity of a load balancer in the cluster's VPC"), "")
}

// declineOthers names what people know from other products, with what to use instead.
func declineOthers(r *annotation.Registry) {
	const noTLS = "cannot be had: load balancers of Thalassa Cloud pass TLS on as it is; let an ingress controller or the pods end it"
	const noAffinity = "cannot be had; loadbalancing-policy: MAGLEV keeps a client on the same node"
	for _, declined := range []annotation.Declined{
		{Name: "target-type", Why: "cannot be had: the targets are nodes; externalTrafficPolicy: Local keeps to those that have a pod"},
		{Name: "certificate", Why: noTLS}, {Name: "certificates", Why: noTLS}, {Name: "certificate-", Why: noTLS},
		{Name: "tls-", Why: noTLS}, {Name: "ssl-", Why: noTLS},
		{Name: "session-affinity", Why: noAffinity}, {Name: "sticky-sessions", Why: noAffinity}, {Name: "sticky-sessions-", Why: noAffinity},
		{Name: "backend-protocol", Why: "cannot be had: load balancers of Thalassa Cloud pass on TCP and UDP as they are"},
		{Name: "access-log-", Why: "cannot be had: load balancers of Thalassa Cloud write no access log that can be asked for"},
		{Name: "source-ranges", Why: "has no effect; use spec.loadBalancerSourceRanges or acl-allowed-sources", Meant: nameAllowedSources},
		{Name: "ip", Why: "has no effect; use reserved-ip"},
	} {
		r.Decline(declined)
	}
}
