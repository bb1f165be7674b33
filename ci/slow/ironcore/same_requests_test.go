package ironcore

import (
	"fmt"
	"slices"
	"strings"
)

const (
	networkingAPI = `"apiVersion": "networking.ironcore.dev/v1alpha1"`
	computeAPI    = `"apiVersion": "compute.ironcore.dev/v1alpha1"`
	// held has the finalizer of the network provider, so that neither server has one that adds it.
	held = `"finalizers": ["apinet.ironcore.dev/loadbalancer"]`
)

// balancerWith is a LoadBalancer with a spec, which is held.
func balancerWith(name, spec string) string {
	return fmt.Sprintf(`{%s, "kind": "LoadBalancer", "metadata": {"name": %q, %s}, "spec": {%s}}`, networkingAPI, name,
		held, spec)
}

// publicSpec is the spec of a public load balancer without its ports.
const publicSpec = `"type": "Public", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}`

// requests returns what is sent, in order.
func requests() []request {
	return slices.Concat(networks(), defaults(), validation(), updates(), patches(), applies(), adoption(), statuses(),
		interfaces(), routings(), machines(), reads(), deletions())
}

func networks() []request {
	return []request{
		{about: "defaults", verb: "create", object: "networks/nodes",
			body: `{` + networkingAPI + `, "kind": "Network", "metadata": {"name": "nodes"}}`},
		{about: "exists", verb: "create", object: "networks/nodes",
			body: `{` + networkingAPI + `, "kind": "Network", "metadata": {"name": "nodes"}}`},
	}
}

// defaults are load balancers that are accepted.
func defaults() []request {
	var all []request
	for name, spec := range map[string]string{
		"public": publicSpec + `, "ports": [{"port": 80}]`,
		"dual":   `"type": "Public", "ipFamilies": ["IPv4", "IPv6"], "networkRef": {"name": "nodes"}`,
		"dropped": publicSpec + `, "ips": [{"ephemeral": {"prefixTemplate": {"spec": {"ipFamily": "IPv4",
"parentRef": {"name": "internal"}}}}}]`,
		"internal": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}, "ips": [
{"ephemeral": {"prefixTemplate": {"spec": {"parentRef": {"name": "internal"}}}}}], "ports": [{"port": 80}]`,
		"family-of-ips": `"type": "Internal", "networkRef": {"name": "nodes"},
			"ips": [{"ephemeral": {"prefixTemplate": {
"spec": {"ipFamily": "IPv6", "parentRef": {"name": "internal"}}}}}, {"value": "10.0.0.9"}]`,
		"odd-first-port": publicSpec + `, "ports": [{"port": 0, "protocol": "ICMP"}]`,
		"protocols": publicSpec + `, "ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"},
{"port": 90, "endPort": 99}]`,
		"no-network-object": `"type": "Public", "ipFamilies": ["IPv4"], "networkRef": {"name": "other"}`,
	} {
		all = append(all, request{about: "accepted", verb: "create", object: "loadbalancers/" + name,
			body: balancerWith(name, spec)})
	}
	slices.SortFunc(all, func(a, b request) int { return strings.Compare(a.object, b.object) })
	return append(all, request{about: "its status is dropped", verb: "create", object: "loadbalancers/with-status",
		body: `{` + networkingAPI + `, "kind": "LoadBalancer", "metadata": {"name": "with-status", ` + held + `},
"spec": {` + publicSpec + `}, "status": {"ips": ["203.0.113.9"]}}`})
}

// validation are load balancers and requests that are refused.
func validation() []request {
	var all []request
	for about, spec := range map[string]string{
		"no type":         `"ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}`,
		"unknown type":    `"type": "Other", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}`,
		"no family":       `"type": "Public", "networkRef": {"name": "nodes"}`,
		"family twice":    `"type": "Public", "ipFamilies": ["IPv4", "IPv4"], "networkRef": {"name": "nodes"}`,
		"unknown family":  `"type": "Public", "ipFamilies": ["IPv5"], "networkRef": {"name": "nodes"}`,
		"no network":      `"type": "Public", "ipFamilies": ["IPv4"]`,
		"name of network": `"type": "Public", "ipFamilies": ["IPv4"], "networkRef": {"name": "No Name"}`,
		"family of address": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"},
"ips": [{"value": "fd00::1"}]`,
		"two sources": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}, "ips": [
{"value": "10.0.0.1", "ephemeral": {"prefixTemplate": {"spec": {"parentRef": {"name": "internal"}}}}}]`,
		"no source": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"}, "ips": [{}]`,
		"prefix without a parent": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"},
			"ips": [
{"ephemeral": {"prefixTemplate": {"spec": {}}}}]`,
		"prefix of many addresses": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"},
			"ips": [
{"ephemeral": {"prefixTemplate": {"spec": {"prefixLength": 24, "parentRef": {"name": "internal"}}}}}]`,
		"more addresses than families": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"},
"ips": [{"value": "10.0.0.1"}, {"value": "10.0.0.2"}]`,
		"no address": `"type": "Internal", "ipFamilies": ["IPv4"], "networkRef": {"name": "nodes"},
			"ips": [{"value": "x"}]`,
	} {
		all = append(all, request{about: about, verb: "create", object: "loadbalancers/refused",
			body: balancerWith("refused", spec)})
	}
	slices.SortFunc(all, func(a, b request) int { return strings.Compare(a.about, b.about) })
	long := strings.Repeat("a", 64)
	return append(all,
		request{about: "name with a dot", verb: "create", object: "loadbalancers/a.b", body: balancerWith("a.b",
			publicSpec)},
		request{about: "long name", verb: "create", object: "loadbalancers/" + long, body: balancerWith(long,
			publicSpec)},
		request{about: "exists", verb: "create", object: "loadbalancers/public", body: balancerWith("public",
			publicSpec)},
		request{about: "no JSON", verb: "create", object: "loadbalancers/x", body: `{`},
		request{about: "another kind", verb: "create", object: "loadbalancers/x",
			body: `{` + networkingAPI + `, "kind": "Network", "metadata": {"name": "x"}}`},
		request{about: "another version", verb: "create", object: "loadbalancers/x",
			body: `{"apiVersion": "networking.ironcore.dev/v1", "kind": "LoadBalancer", "metadata": {"name": "x"}}`},
		request{about: "another namespace", verb: "create", object: "loadbalancers/x",
			body: `{` + networkingAPI + `, "kind": "LoadBalancer", "metadata": {"name": "x", "namespace": "y"},
"spec": {` + publicSpec + `}}`},
		request{about: "unknown label", verb: "create", object: "loadbalancers/x", body: `{` + networkingAPI +
			`, "kind": "LoadBalancer", "metadata": {"name": "x", "labels": {"a b": "c"}},
"spec": {` + publicSpec + `}}`},
	)
}

func updates() []request {
	return []request{
		{about: "changes nothing", verb: "update", object: "loadbalancers/public", body: `{}`},
		{about: "port", verb: "update", object: "loadbalancers/public", body: `{"spec": {"ports": [{"port": 81}]}}`},
		{about: "no version", verb: "update", object: "loadbalancers/public",
			body: `{"metadata": {"resourceVersion": null}}`},
		{about: "old version", verb: "update", object: "loadbalancers/public",
			body: `{"metadata": {"resourceVersion": "1"}, "spec": {"ports": [{"port": 83}]}}`},
		{about: "another identity", verb: "update", object: "loadbalancers/public",
			body: `{"metadata": {"uid": "another"}, "spec": {"ports": [{"port": 83}]}}`},
		{about: "another name", verb: "update", object: "loadbalancers/public",
			body: `{"metadata": {"name": "other"}}`},
		{about: "network", verb: "update", object: "loadbalancers/public",
			body: `{"spec": {"networkRef": {"name": "b"}}}`},
		{about: "families", verb: "update", object: "loadbalancers/public", body: `{"spec": {"ipFamilies": ["IPv6"]}}`},
		{about: "public becomes internal", verb: "update", object: "loadbalancers/dual", body: `{"spec": {
			"type": "Internal",
"ips": [{"value": "10.0.0.1"}, {"value": "fd00::1"}]}}`},
		{about: "internal becomes public", verb: "update", object: "loadbalancers/dual",
			body: `{"spec": {"type": "Public"}}`},
		{about: "status is kept", verb: "update", object: "loadbalancers/public",
			body: `{"status": {"ips": ["203.0.113.7"]}}`},
		{about: "generation and times are kept", verb: "update", object: "loadbalancers/public",
			body: `{"metadata": {"generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z"}}`},
	}
}

func patches() []request {
	const lb = "loadbalancers/protocols"
	return []request{
		{about: "label", verb: "merge", object: lb, body: `{"metadata": {"labels": {"a": "b"}}}`},
		{about: "changes nothing", verb: "merge", object: lb, body: `{"metadata": {"labels": {"a": "b"}}}`},
		{about: "list", verb: "merge", object: lb, body: `{"spec": {"ports": [{"port": 70}]}}`},
		{about: "old version", verb: "merge", object: lb,
			body: `{"metadata": {"resourceVersion": "1", "labels": {"a": "c"}}}`},
		{about: "list", verb: "strategic", object: lb, body: `{"spec": {"ports": [{"port": 71}]}}`},
		{about: "operation", verb: "json", object: lb,
			body: `[{"op": "replace", "path": "/spec/ports/0/port", "value": 72}]`},
		{about: "failing test", verb: "json", object: lb,
			body: `[{"op": "test", "path": "/spec/type", "value": "Internal"}]`},
		{about: "missing path", verb: "json", object: lb, body: `[{"op": "remove", "path": "/spec/other"}]`},
		{about: "no JSON", verb: "merge", object: lb, body: `{`},
		{about: "network", verb: "merge", object: lb, body: `{"spec": {"networkRef": {"name": "b"}}}`},
		{about: "type of patch", verb: "other", object: lb, body: `{}`},
		{about: "missing object", verb: "merge", object: "loadbalancers/missing", body: `{}`},
	}
}

// applied is a LoadBalancer without what is not applied.
func applied(name, spec string) string {
	return fmt.Sprintf(`{%s, "kind": "LoadBalancer", "metadata": {"name": %q, %s}, "spec": {%s}}`, networkingAPI, name,
		held, spec)
}

func applies() []request {
	const lb = "loadbalancers/applied"
	ports := func(list string) string { return applied("applied", publicSpec+`, "ports": [`+list+`]`) }
	return []request{
		{about: "creates", verb: "apply", object: lb, body: ports(`{"port": 80, "protocol": "TCP"}`)},
		{about: "changes nothing", verb: "apply", object: lb, body: ports(`{"port": 80, "protocol": "TCP"}`)},
		{about: "changes", verb: "apply", object: lb, body: ports(`{"port": 81, "protocol": "TCP"}`)},
		{about: "no manager", verb: "apply", object: lb, manager: "none", body: ports(`{"port": 82}`)},
		{about: "of another manager", verb: "apply", object: lb, manager: "two", body: ports(`{"port": 82}`)},
		{about: "the same of another manager", verb: "apply", object: lb, manager: "two",
			body: ports(`{"port": 81, "protocol": "TCP"}`)},
		{about: "by force", verb: "apply", object: lb, manager: "two", query: "force=true",
			body: ports(`{"port": 82}`)},
		{about: "conflicts", verb: "apply", object: lb, body: ports(`{"port": 80}`)},
		{about: "set back by another manager", verb: "merge", object: lb, manager: "two",
			body: `{"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}}`},
		{about: "the same again", verb: "apply", object: lb, body: ports(`{"port": 81, "protocol": "TCP"}`)},
		{about: "changes after the other manager", verb: "apply", object: lb, body: ports(`{"port": 84}`)},
		{about: "without a list", verb: "apply", object: lb, manager: "two", body: applied("applied", publicSpec)},
		{about: "a selector", verb: "apply", object: lb, body: applied("applied", publicSpec+
			`, "networkInterfaceSelector": {"matchLabels": {"a": "b"}}`)},
		{about: "another selector", verb: "apply", object: lb, body: applied("applied", publicSpec+
			`, "networkInterfaceSelector": {"matchLabels": {"c": "d"}}`)},
		{about: "no selector", verb: "apply", object: lb, body: applied("applied", publicSpec)},
		{about: "another name", verb: "apply", object: "loadbalancers/other", body: ports("")},
		{about: "another kind", verb: "apply", object: lb,
			body: `{` + networkingAPI + `, "kind": "Network", "metadata": {"name": "applied"}}`},
		{about: "old version", verb: "apply", object: lb, body: `{` + networkingAPI + `, "kind": "LoadBalancer",
"metadata": {"name": "applied", "resourceVersion": "1"}}`},
		{about: "no JSON", verb: "apply", object: lb, body: `{`},
		{about: "its status is dropped", verb: "apply", object: lb,
			body: `{` + networkingAPI + `, "kind": "LoadBalancer",
"metadata": {"name": "applied", ` + held + `}, "spec": {` + publicSpec + `}, "status": {"ips": ["203.0.113.8"]}}`},
		{about: "of the status", verb: "apply", object: lb + "/status", manager: "two", body: `{` + networkingAPI +
			`, "kind": "LoadBalancer", "metadata": {"name": "applied"}, "status": {"ips": ["203.0.113.8"]}}`},
		{about: "of the status, by force", verb: "apply", object: lb + "/status", manager: "two", query: "force=true",
			body: `{` + networkingAPI + `, "kind": "LoadBalancer", "metadata": {"name": "applied"},
"status": {"ips": ["203.0.113.8"]}}`},
	}
}

// adoption is about objects whose fields nobody manages.
func adoption() []request {
	const lb = "loadbalancers/internal"
	body := func(port int) string {
		return applied("internal", fmt.Sprintf(`"type": "Internal", "ports": [{"port": %d}]`, port))
	}
	return []request{
		{about: "forget the managers", verb: "merge", object: lb, body: `{"metadata": {"managedFields": [{}]}}`},
		{about: "before the first apply", verb: "apply", object: lb, body: body(81)},
		{about: "before the first apply, by force", verb: "apply", object: lb, query: "force=true", body: body(81)},
		{about: "after the first apply", verb: "apply", object: lb, body: body(82)},
	}
}

func statuses() []request {
	const lb = "loadbalancers/public/status"
	return []request{
		{about: "addresses", verb: "update", object: lb, body: `{"status": {"ips": ["203.0.113.7"]}}`},
		{about: "addresses", verb: "merge", object: lb, body: `{"status": {"ips": ["203.0.113.7", "203.0.113.8"]}}`},
		{about: "no address", verb: "merge", object: lb, body: `{"status": {"ips": ["x"]}}`},
		{about: "labels, too", verb: "merge", object: lb, body: `{"metadata": {"labels": {"from": "status"}}}`},
		{about: "there is none", verb: "merge", object: "loadbalancerroutings/public/status", body: `{}`},
		{about: "read", verb: "get", object: lb},
	}
}

// interfaceWith is a NetworkInterface.
func interfaceWith(name, rest string) string {
	return fmt.Sprintf(`{%s, "kind": "NetworkInterface", "metadata": {"name": %q, "labels": {"a": "b"}}, %s}`,
		networkingAPI, name, rest)
}

func interfaces() []request {
	const nic = "networkinterfaces/nic"
	spec := `"spec": {"networkRef": {"name": "nodes"}, "ips": [{"value": "10.0.0.1"}]}`
	return []request{
		{about: "defaults", verb: "create", object: nic, body: interfaceWith("nic", spec)},
		{about: "ephemeral", verb: "create", object: "networkinterfaces/ephemeral", body: interfaceWith("ephemeral",
			`"spec": {"networkRef": {"name": "nodes"}, "ipFamilies": ["IPv4"],
				"ips": [{"ephemeral": {"prefixTemplate": {
"spec": {"parentRef": {"name": "none"}}}}}], "prefixes": [{"ephemeral": {"prefixTemplate": {"spec": {
"ipFamily": "IPv4", "prefixLength": 24, "parentRef": {"name": "none"}}}}}]}`)},
		{about: "prefix", verb: "merge", object: nic, body: `{"spec": {"prefixes": [{"value": "10.244.1.0/24"}]}}`},
		{about: "prefix without a source", verb: "merge", object: nic, body: `{"spec": {"prefixes": [{}]}}`},
		{about: "prefix of no length", verb: "merge", object: nic, body: `{"spec": {"prefixes": [{"ephemeral": {
"prefixTemplate": {"spec": {"ipFamily": "IPv4", "parentRef": {"name": "none"}}}}}]}}`},
		{about: "address", verb: "merge", object: nic, body: `{"spec": {"ips": [{"value": "10.0.0.2"}]}}`},
		{about: "provider ID", verb: "merge", object: nic, body: `{"spec": {"providerID": "a"}}`},
		{about: "another provider ID", verb: "merge", object: nic, body: `{"spec": {"providerID": "b"}}`},
		{about: "applied prefixes", verb: "apply", object: nic, manager: "two", query: "force=true", body: `{` +
			networkingAPI + `, "kind": "NetworkInterface", "metadata": {"name": "nic"}, "spec": {"prefixes": [
{"value": "10.244.2.0/24"}]}}`},
		{about: "not by the status", verb: "merge", object: nic + "/status", body: `{"spec": {"providerID": "c"}}`},
		{about: "in use", verb: "merge", object: nic + "/status", body: `{"status": {"state": "Available",
"ips": ["10.0.0.2"]}}`},
	}
}

func routings() []request {
	const routing = "loadbalancerroutings/public"
	body := func(destinations string) string {
		return `{` + networkingAPI + `, "kind": "LoadBalancerRouting", "metadata": {"name": "public"},
"networkRef": {"name": "nodes", "uid": "u"}, "destinations": [` + destinations + `]}`
	}
	return []request{
		{about: "creates", verb: "create", object: routing, body: body(`{"ip": "10.0.0.1"}`)},
		{about: "applied", verb: "apply", object: routing, manager: "two", query: "force=true",
			body: body(`{"ip": "10.0.0.1", "targetRef": {"uid": "u", "name": "nic", "providerID": "p"}}`)},
		{about: "no name", verb: "apply", object: routing, manager: "two", query: "force=true",
			body: body(`{"ip": "10.0.0.1", "targetRef": {"uid": "u", "providerID": "p"}}`)},
		{about: "no address", verb: "apply", object: routing, manager: "two", query: "force=true", body: body(`{}`)},
		{about: "nothing", verb: "apply", object: routing, manager: "two", query: "force=true", body: body(``)},
		{about: "another network", verb: "merge", object: routing, body: `{"networkRef": {"name": "b", "uid": "v"}}`},
		{about: "is deleted", verb: "delete", object: routing},
		{about: "a load balancer with a selector", verb: "create", object: "loadbalancers/selecting",
			body: balancerWith("selecting", publicSpec+`, "networkInterfaceSelector": {"matchLabels": {"a": "b"}}`)},
		{about: "an interface that is selected no more", verb: "merge", object: "networkinterfaces/nic",
			body: `{"metadata": {"labels": {"a": "c"}}}`},
		{about: "another selector", verb: "merge", object: "loadbalancers/selecting",
			body: `{"spec": {"networkInterfaceSelector": {"matchLabels": {"a": "c"}}}}`},
	}
}

func machines() []request {
	const machine = "machines/vm"
	body := func(name, spec string) string {
		return fmt.Sprintf(`{%s, "kind": "Machine", "metadata": {"name": %q}, "spec": {%s}}`, computeAPI, name, spec)
	}
	const spec = `"machineClassRef": {"name": "small"}, "machinePoolRef": {"name": "pool"}`
	return []request{
		{about: "defaults", verb: "create", object: machine, body: body("vm", spec+
			`, "networkInterfaces": [{"name": "primary", "networkInterfaceRef": {"name": "nic"}}]`)},
		{about: "power", verb: "merge", object: machine, body: `{"spec": {"power": "Off"}}`},
		{about: "status", verb: "merge", object: machine + "/status", body: `{"status": {"state": "Running"}}`},
		{about: "not by the status", verb: "merge", object: machine + "/status", body: `{"spec": {"power": "On"}}`},
		{about: "finalizer", verb: "merge", object: machine,
			body: `{"metadata": {"finalizers": ["example.com/held"]}}`},
		{about: "held", verb: "delete", object: machine},
		{about: "released", verb: "merge", object: machine, body: `{"metadata": {"finalizers": null}}`},
	}
}

func reads() []request {
	return []request{
		{about: "missing", verb: "get", object: "loadbalancers/missing"},
		{about: "read", verb: "get", object: "loadbalancers/public"},
		{about: "by label", verb: "list", object: "loadbalancers", query: "labelSelector=a%3Db"},
		{about: "by a bad label", verb: "list", object: "loadbalancers", query: "labelSelector=a+b"},
		{about: "by name", verb: "list", object: "loadbalancers", query: "fieldSelector=metadata.name%3Dpublic"},
		{about: "by another field", verb: "list", object: "loadbalancers", query: "fieldSelector=spec.type%3DPublic"},
		{about: "an unknown resource", verb: "list", object: "others"},
	}
}

func deletions() []request {
	const lb = "loadbalancers/selecting"
	return []request{
		{about: "missing", verb: "delete", object: "loadbalancers/missing"},
		{about: "another identity", verb: "delete", object: lb, body: `{"preconditions": {"uid": "another"}}`},
		{about: "another version", verb: "delete", object: lb, body: `{"preconditions": {"resourceVersion": "1"}}`},
		{about: "held", verb: "delete", object: lb},
		{about: "held, again", verb: "delete", object: lb},
		{about: "while deleted", verb: "merge", object: lb, body: `{"spec": {"ports": [{"port": 7}]}}`},
		{about: "another finalizer while deleted", verb: "merge", object: lb,
			body: `{"metadata": {"finalizers": ["apinet.ironcore.dev/loadbalancer", "example.com/new"]}}`},
		{about: "released", verb: "merge", object: lb, body: `{"metadata": {"finalizers": null}}`},
		{about: "gone", verb: "get", object: lb},
	}
}
