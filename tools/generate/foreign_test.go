package generate

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// TestForeignPage: each annotation of another product is on it, with what to do in each cloud.
func TestForeignPage(t *testing.T) {
	page := renderForeign(annotatedClouds())
	for _, cloud := range annotatedClouds() {
		for _, one := range cloud.registry.Foreign() {
			if name := strings.TrimSuffix(one.Name, "-"); !strings.Contains(page, "| `"+name) {
				t.Errorf("the page lacks %s", one.Name)
			}
		}
	}
	for _, want := range []string{
		"## Internal load balancers\n", "* On Thalassa Cloud: set `loadbalancer.k8s.thalassa.cloud/type` to internal",
		"* On IronCore: set `service.beta.kubernetes.io/ironcore-load-balancer-internal` to true",
		"| `service.beta.kubernetes.io/aws-load-balancer-scheme` | AWS | `internet-facing` |\n",
		"| `service.beta.kubernetes.io/aws-load-balancer-type` | AWS | `nlb`, `elb`, `clb`, `classic`; all, if the " +
			"Service has `service.beta.kubernetes.io/aws-load-balancer-scheme` or ",
		"| `loadbalancer.k8s.thalassa.cloud/acl-port-…` | Thalassa Cloud |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestForeignPolicy contains what limits who can connect, and nothing else. A family of names cannot be in it.
func TestForeignPolicy(t *testing.T) {
	for _, cloud := range annotatedClouds() {
		text := AdmissionPolicy(cloud.registry, "docs/x.md")
		for _, one := range cloud.registry.Foreign() {
			enforced := cloud.registry.Enforces(one.Concept)
			if strings.Contains(text, `"`+one.Name+`"`) != enforced || enforced && annotation.IsFamily(one.Name) {
				t.Errorf("%s: annotation %s is in the policy, or not: want %t", cloud.cloud, one.Name, enforced)
			}
		}
		if strings.Count(text, NoClass) != 1 {
			t.Errorf("%s: the condition about classes is there %d times", cloud.cloud, strings.Count(text, NoClass))
		}
	}
	if text := AdmissionPolicy(small(), "docs/x.md"); strings.Contains(text, "foreign") {
		t.Errorf("a registry that replaces nothing has a policy with\n%s", text)
	}
}
