package annotation

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotatedWith is a Service with two ports.
func annotatedWith(annotations map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Port: 53}}}}
}

// replacing has annotations in place of those of other products.
func replacing() keys {
	k := newKeys()
	k.registry.Replace(AboutInternal, Own{Names: []string{"policy"}, Instead: "set policy"})
	k.registry.Replace(AboutSources, Own{Names: []string{"name", "acl-"}, Instead: "set name"})
	k.registry.Replace(AboutDeniedSources, Own{Instead: "cannot be had"})
	k.registry.Replace(AboutConnections, Own{Names: []string{"limit"}, Instead: "set limit"})
	k.registry.Replace(AboutHealthChecks, Own{Names: []string{"pro-"}, Instead: "set pro-…"})
	return k
}

// TestForeignValues: what asks for nothing in the other product is no problem.
func TestForeignValues(t *testing.T) {
	const beta = "service.beta.kubernetes.io/"
	for name, values := range map[string]struct{ asks, asksNot []string }{
		beta + "aws-load-balancer-internal": {[]string{"true", "0.0.0.0/0", "yes", "0"},
			[]string{"false", "False", "", " ", "\u00a0"}},
		beta + "aws-load-balancer-scheme": {[]string{"internal", "intern"}, []string{"internet-facing",
			"INTERNET-FACING", " internet-facing "}},
		beta + "aws-load-balancer-type": {[]string{"external", "nlb-ip", "External"},
			[]string{"nlb", "classic", ""}},
		"service.kubernetes.io/aws-load-balancer-type": {[]string{"external", "nlb-ip"}, []string{"nlb"}},
		beta + "azure-load-balancer-internal": {[]string{"true", "TRUE"}, []string{"false", "FALSE", "0",
			"f"}},
		"networking.gke.io/load-balancer-type":         {[]string{"Internal", "internal"}, []string{"External"}},
		beta + "do-loadbalancer-network":               {[]string{"INTERNAL"}, []string{"EXTERNAL"}},
		"loadbalancer.k8s.thalassa.cloud/type":         {[]string{"internal", "p\u212aublic"}, []string{"public"}},
		beta + "azure-allowed-service-tags":            {[]string{"AzureCloud"}, []string{"Internet", ""}},
		beta + "ovh-loadbalancer-allowed-sources":      {[]string{"10.0.0.0/8"}, []string{"0.0.0.0/0", ""}},
		beta + "cloudstack-load-balancer-source-cidrs": {[]string{"10.0.0.0/8", "", " "}, []string{"0.0.0.0/0"}},
		"kubernetes.io/elb.acl-id":                     {[]string{"3b5e"}, []string{""}},
		"kubernetes.io/elb.acl-status":                 {[]string{"on"}, []string{"off", ""}},
		beta + "do-loadbalancer-deny-rules":            {[]string{"cidr:0.0.0.0/0"}, []string{""}},
		"service.cilium.io/type":                       {nil, []string{"ClusterIP"}}, // the network of this cluster
		beta + "alicloud-loadbalancer-acl-status":      {[]string{"on"}, []string{"off"}},
		beta + "azure-allowed-ip-ranges": {[]string{"10.0.0.0/8", "10.0.0.0/8,::/0", "0.0.0.0/0,2001:db8::/32",
			"0.0.0.0/00", "x/0", "0.0.0.0", strings.Repeat("0.0.0.0/0,", 500)},
			[]string{"0.0.0.0/0", "::/0", "0.0.0.0/0,::/0", "10.0.0.0/8, 0.0.0.0/0", ",", " 10.1.2.3/0 ,"}},
		beta + "do-loadbalancer-allow-rules": {[]string{"cidr:10.0.0.0/8", "ip:10.0.0.1"},
			[]string{"cidr:0.0.0.0/0", "CIDR:::/0,cidr:0.0.0.0/0"}},
		"loadbalancer.k8s.thalassa.cloud/acl-port-http": {[]string{"10.0.0.0/8"}, []string{"::/0"}},
		// Nothing has their meaning here.
		beta + "aws-load-balancer-ssl-cert": {nil, []string{"x"}}, beta + "aws-load-balancer-nonsense": {nil,
			[]string{"true"}},
	} {
		for _, value := range slices.Concat(values.asks, values.asksNot) {
			_, problems := replacing().registry.ParseService(annotatedWith(map[string]string{name: value}))
			if asks := slices.Contains(values.asks, value); len(problems) != map[bool]int{true: 1}[asks] {
				t.Errorf("%s: %q: problems %v, want one: %t", name, value, problems, asks)
			}
		}
	}
}

// TestForeignProblems: what limits who can connect makes the annotation with its meaning invalid. Annotations of the
// Service with the meaning take its place.
func TestForeignProblems(t *testing.T) {
	const internal, sources, limit, check = "service.beta.kubernetes.io/aws-load-balancer-internal",
		"service.beta.kubernetes.io/azure-allowed-ip-ranges", "loadbalancer.openstack.org/connection-limit",
		"load-balancer.hetzner.cloud/health-check-port"
	const beta, ours = "service.beta.kubernetes.io/", "lb.example.com/"
	for name, tt := range map[string]struct {
		annotations map[string]string
		ranges      []string
		problems    int
		invalid     string // the annotation that is; "" for none
	}{
		"internal":            {map[string]string{internal: "true"}, nil, 1, "policy"},
		"internal, said here": {map[string]string{internal: "true", ours + "policy": "A"}, nil, 0, ""},
		"internal, implied":   {map[string]string{beta + "aws-load-balancer-type": "external"}, nil, 1, "policy"},
		"internal, implied, said here": {map[string]string{beta + "aws-load-balancer-type": "external",
			ours + "policy": "A"}, nil, 0, ""},
		"public, and not implied": {map[string]string{beta + "aws-load-balancer-type": "external",
			beta + "aws-load-balancer-scheme": "internet-facing"}, nil, 0, ""},
		"public, under the other prefix": {map[string]string{beta + "aws-load-balancer-type": "nlb-ip",
			"service.kubernetes.io/aws-load-balancer-internal": "false"}, nil, 0, ""},
		"internal, and not implied": {map[string]string{beta + "aws-load-balancer-type": "external",
			beta + "aws-load-balancer-scheme": "internal"}, nil, 1, "policy"},
		"internal, with ranges": {map[string]string{internal: "true"}, []string{"::/0"}, 1, "policy"},
		"sources":               {map[string]string{sources: "::1"}, nil, 1, "name"},
		"sources, said here":    {map[string]string{sources: "::1", ours + "name": "x"}, nil, 0, ""},
		"sources, not in effect": {map[string]string{"kubernetes.io/elb.acl-id": "3b5e",
			"kubernetes.io/elb.acl-status": "off"}, nil, 0, ""},
		"sources, in effect": {map[string]string{"kubernetes.io/elb.acl-id": "3b5e",
			"kubernetes.io/elb.acl-status": "on"}, nil, 1, "name"},
		"sources, with ranges":      {map[string]string{sources: "::1"}, []string{"::1/128"}, 0, ""},
		"sources, said of one port": {map[string]string{sources: "::1", ours + "acl-http": "all"}, nil, 1, "name"},
		"sources, said of all ports": {map[string]string{sources: "::1", ours + "acl-http": "all",
			ours + "acl-53": "all"}, nil, 0, ""},
		"denied, which cannot be had": {map[string]string{
			"service.beta.kubernetes.io/do-loadbalancer-deny-rules": "ip:192.0.2.1"}, nil, 1, ""},
		"a limit":                    {map[string]string{limit: "5"}, nil, 1, ""},
		"a limit, said here":         {map[string]string{limit: "5", ours + "limit": "5"}, nil, 0, ""},
		"a limit, said of a port":    {map[string]string{limit: "5", ours + "limit.http": "5"}, nil, 0, ""},
		"a check":                    {map[string]string{check: "5"}, nil, 1, ""},
		"a check, said in other way": {map[string]string{check: "5", ours + "proxy": "true"}, nil, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k, service := replacing(), annotatedWith(tt.annotations)
			service.Spec.LoadBalancerSourceRanges = tt.ranges
			values, problems := k.registry.ParseService(service)
			invalid := map[string]bool{"policy": k.policy.From(values).Invalid, "name": k.name.From(values).Invalid,
				"limit": k.limit.From(values).Invalid}
			for name, is := range invalid {
				if is != (name == tt.invalid) {
					t.Errorf("%s is invalid: %t, want %q", name, is, tt.invalid)
				}
			}
			if len(problems) != tt.problems {
				t.Fatalf("problems %v, want %d", problems, tt.problems)
			}
			for _, problem := range problems {
				if !problem.Foreign || problem.Meant != tt.invalid ||
					!strings.Contains(problem.String(), " and has no effect here; ") {
					t.Errorf("problem %+v", problem)
				}
			}
		})
	}
}

// TestForeignTable: each name has one meaning, and its harmless values can be compared.
func TestForeignTable(t *testing.T) {
	all := foreignTable()
	for i, one := range all {
		if !slices.Contains(Concepts(), one.Concept) || one.Product == "" || !strings.Contains(one.Name, "/") {
			t.Errorf("annotation %+v", one)
		}
		for _, other := range all[:i] {
			if other.Name == one.Name || IsFamily(other.Name) && strings.HasPrefix(one.Name, other.Name) ||
				IsFamily(one.Name) && strings.HasPrefix(other.Name, one.Name) {
				t.Errorf("%s and %s are the same annotation", one.Name, other.Name)
			}
		}
		for _, value := range one.Harmless {
			if value != lowerASCII(value) || value == "" {
				t.Errorf("%s: harmless value %q", one.Name, value)
			}
		}
	}
	if len(all) < 100 {
		t.Errorf("%d annotations", len(all))
	}
}
