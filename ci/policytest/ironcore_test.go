package policytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
)

// ironcorePolicy is what the chart makes with cloud: ironcore.
func ironcorePolicy(t *testing.T) policy {
	t.Helper()
	return renderedFrom(t, releaseWith(t, "ironcore-values.yaml", "thalassa-ccm"))
}

// TestIronCoreComponentIsTheSamePolicy as that of the chart, by the same name.
func TestIronCoreComponentIsTheSamePolicy(t *testing.T) {
	wantComponent(t, "admission-policy-ironcore", ironcorePolicy(t), balancer.Registry().Prefix())
}

// TestIronCorePolicyAgreesWithParser asks both about the same values of every annotation.
func TestIronCorePolicyAgreesWithParser(t *testing.T) {
	client, namespace := cluster(t)
	registry := balancer.Registry()
	wantNoWarnings(t, client, namespace, ironcorePolicy(t), registry.Prefix())
	for _, entry := range registry.Entries() {
		texts := slices.Concat([]string{entry.Default, entry.Example}, some(values(), tier.Pick(4, 1), 0),
			random(tier.Pick(20, 200)), some(listed(), tier.Pick(20, 5), 0))
		accepted, refused := 0, 0
		for _, value := range texts {
			if agree(t, client, namespace, registry, registry.Prefix()+entry.Name, value) {
				accepted++
			} else {
				refused++
			}
		}
		if accepted < 1 || refused < tier.Pick(10, 100) {
			t.Errorf("%s: accepted %d, refused %d: these values test too little", entry.Name, accepted, refused)
		}
	}
}

// TestIronCoreNames has the API server and the parser judge names.
func TestIronCoreNames(t *testing.T) {
	client, namespace := cluster(t)
	registry := balancer.Registry()
	install(t, client, namespace, ironcorePolicy(t), registry.Prefix())
	for name, want := range map[string]string{
		"load-balancer-internal": "", "load-balancer-internl": "is not known", "loadbalancer-internal": "is not known",
		"load-balancer-Internal": "is not known", "load-balancer-proxy-protocol": "is not known",
		"load-balancer-internal.http": "is for one port, but ", "load-balancer-internal.nope": "is for one port, but ",
		"load-balancer": "is not known", "x.http": "is not known",
	} {
		s := service(namespace, map[string]string{registry.Prefix() + name: "true"})
		_, problems := registry.Parse(s.Annotations, annotation.PortsOf(s))
		err := create(t.Context(), client, s)
		switch {
		case (err == nil) != (want == "") || (err == nil) != (len(problems) == 0):
			t.Errorf("%s: the parser says %v, the API server %v, want %q", name, problems, err, want)
		case err != nil && !strings.Contains(err.Error(), "annotation "+registry.Prefix()+name+": "+want):
			t.Errorf("%s: the API server says %v, want %q", name, err, want)
		}
	}
}

// TestIronCoreForeignNames: names with another prefix are not checked, also those of the other cloud.
func TestIronCoreForeignNames(t *testing.T) {
	client, namespace := cluster(t)
	install(t, client, namespace, ironcorePolicy(t), balancer.Registry().Prefix())
	for _, name := range []string{"service.beta.kubernetes.io/ironcore", "service.beta.kubernetes.io/aws-x",
		"loadbalancer.k8s.thalassa.cloud/x"} {
		if err := create(t.Context(), client, service(namespace, map[string]string{name: "x"})); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}
