package balancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
)

// TestForeignAnnotations: what limits who can connect in another product opens no port here, unless the Service itself
// says it, or the value limits nothing. Other annotations are only reported. What is open stays so.
func TestForeignAnnotations(t *testing.T) {
	const aws, azure = "service.beta.kubernetes.io/aws-load-balancer-", "service.beta.kubernetes.io/azure-"
	const reach = "refused: 2 of the ports …internal or public are not valid\nInvalidAnnotation: …"
	const sources = "refused: port 80/TCP is not opened, …\nport 443/TCP…\nInvalidAnnotation: …"
	const groups = "refused: the annotation about its security groups is not valid\nInvalidAnnotation: …"
	const public, unsupported = "create …\ncreate load balancer web", "create …\nUnsupportedSetting: …"
	for _, tt := range []struct {
		ask    string
		ranges []string
		want   string
	}{
		{aws + "internal=true", nil, reach + " type…."},
		{aws + "internal=0.0.0.0/0", nil, reach + "AWS…."},
		{"service.beta.kubernetes.io/ironcore-load-balancer-internal=true", nil, reach + "IronCore…."},
		{aws + "internal=false", nil, public},
		{aws + "scheme=INTERNET-FACING", nil, public},
		{aws + "internal=true type=public", nil, public},
		{azure + "load-balancer-internal=true internal=false", nil, public},
		{azure + "load-balancer-internal=true", []string{"10.0.0.0/8"}, reach + "Azure…."},
		{azure + "allowed-ip-ranges=10.0.0.0/8", nil, sources + "acl-allowed-sources…."},
		{azure + "allowed-ip-ranges=0.0.0.0/0,::/0", nil, public},
		{azure + "allowed-ip-ranges=10.0.0.0/8 acl-allowed-sources=", nil, public},
		{azure + "allowed-ip-ranges=10.0.0.0/8 acl-port-80=10.0.0.0/8 acl-port-443=10.0.0.0/8", nil, public},
		{azure + "allowed-ip-ranges=10.0.0.0/8", []string{"192.0.2.0/24"}, public},
		{azure + "allowed-ip-ranges=10.0.0.0/8 " + sourceRangesAnnotation + "=192.0.2.0/24", nil, public},
		{"service.cloud.tencent.com/security-groups=sg-1 security-groups=sg-two", nil, public},
		{aws + "security-groups=sg-1", nil, groups + "security-groups…."},
		{aws + "security-groups=sg-1 create-security-group=true", nil, "create security group own\n…"},
		{"service.cilium.io/src-ranges-policy=deny", []string{"192.0.2.0/24"}, sources + "src-ranges-policy: this " +
			"load balancer would admit the networks of spec.loadBalancerSourceRanges, which Cilium denies. Write the " +
			"permitted networks there, and remove this annotation. Until…."},
		{aws + "healthcheck-path=/x", nil, unsupported + "health-check-……."},
		{aws + "ssl-cert=arn:x", nil, unsupported + "do not terminate TLS…."},
	} {
		t.Run(tt.ask, func(t *testing.T) {
			asked := step{ask: tt.ask, spec: ranges(tt.ranges...)}
			w, open := newWorld(nil), newWorld(nil)
			text := strings.ReplaceAll(shown(w.compare(asking(asked)), ""), "\n", "¶")
			if want := strings.ReplaceAll(tt.want, "\n", "¶"); !matches(text, want) {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
			open.settle(t, plain(), open.compare)
			if found := open.compare(asking(asked)); found.Refused != nil {
				t.Errorf("ports that are open are refused: %v", found.Refused)
			}
		})
	}
}

// TestForeignAnnotationsBesideDefaults: a default that limits who can connect has the effect of the annotation on each
// Service, and others do not.
func TestForeignAnnotationsBesideDefaults(t *testing.T) {
	const beta = "service.beta.kubernetes.io/"
	const internal, sources, groups = beta + "azure-load-balancer-internal", beta + "azure-allowed-ip-ranges",
		beta + "aws-load-balancer-security-groups"
	for name, tt := range map[string]struct {
		defaults map[string]string
		foreign  string
		closed   bool
	}{
		"internal":                     {map[string]string{"type": "internal"}, internal, false},
		"internal, in the former way":  {map[string]string{"internal": "true"}, internal, false},
		"public":                       {map[string]string{"type": "public"}, internal, true},
		"not internal":                 {map[string]string{"internal": "false"}, internal, true},
		"another":                      {map[string]string{"max-connections": "5"}, internal, true},
		"sources":                      {map[string]string{"acl-allowed-sources": "10.0.0.0/8"}, sources, false},
		"sources, and internal":        {map[string]string{"type": "internal"}, sources, true},
		"security groups":              {map[string]string{"security-groups": "sg-1"}, groups, false},
		"sources instead of groups":    {map[string]string{"acl-allowed-sources": "10.0.0.0/8"}, groups, false},
		"security groups, and sources": {map[string]string{"security-groups": "sg-1"}, sources, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, web := newAnnotations(), service("web", 80)
			if problems := a.registry.SetDefaults(tt.defaults); len(problems) > 0 {
				t.Fatal(problems)
			}
			web.Annotations = map[string]string{tt.foreign: "10.0.0.0/8"}
			if _, notices := a.read(web); (len(notices) > 0) != tt.closed {
				t.Errorf("notices %v, want one: %t", notices, tt.closed)
			}
		})
	}
}

// TestEveryConceptHasAReplacement: each annotation in the table is reported.
func TestEveryConceptHasAReplacement(t *testing.T) {
	for _, concept := range annotation.Concepts() {
		own, declared := Registry().Replacement(concept)
		if !declared || own.Instead == "" || strings.HasSuffix(own.Instead, ".") || strings.Contains(own.Instead, "^") {
			t.Errorf("%s: %+v", concept, own)
		}
		for _, name := range own.Names {
			if !slices.ContainsFunc(Registry().Entries(), func(entry annotation.Entry) bool {
				return entry.Name == name || annotation.IsFamily(name) && strings.HasPrefix(entry.Name, name)
			}) {
				t.Errorf("%s: annotation %s does not exist", concept, name)
			}
		}
	}
}
