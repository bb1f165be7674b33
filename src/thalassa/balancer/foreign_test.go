package balancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestForeignAnnotations: what limits who can connect in another product opens no port here, unless the Service itself
// says it, or the value limits nothing. Other annotations are only reported.
func TestForeignAnnotations(t *testing.T) {
	const beta, own = "service.beta.kubernetes.io/", label.AnnotationPrefix
	type annotations map[string]string
	for name, tt := range map[string]struct {
		has    annotations
		ranges []string
		closed bool
		notice string // part of the only one; "" for none
	}{
		"internal in AWS":      {annotations{beta + "aws-load-balancer-internal": "true"}, nil, true, own + "type"},
		"internal in old AWS":  {annotations{beta + "aws-load-balancer-internal": "0.0.0.0/0"}, nil, true, "AWS"},
		"internal on IronCore": {annotations{beta + "ironcore-load-balancer-internal": "true"}, nil, true, "IronCore"},
		"public in AWS":        {annotations{beta + "aws-load-balancer-internal": "false"}, nil, false, ""},
		"public in words":      {annotations{beta + "aws-load-balancer-scheme": "INTERNET-FACING"}, nil, false, ""},
		"public here": {annotations{beta + "aws-load-balancer-internal": "true", own + "type": "public"}, nil,
			false, ""},
		"not internal here": {annotations{beta + "azure-load-balancer-internal": "true", own + "internal": "false"},
			nil, false, ""},
		"ranges do not say whether it is internal": {annotations{beta + "azure-load-balancer-internal": "true"},
			[]string{"10.0.0.0/8"}, true, "Azure"},
		"sources": {annotations{beta + "azure-allowed-ip-ranges": "10.0.0.0/8"}, nil, true,
			own + "acl-allowed-sources"},
		"everybody": {annotations{beta + "azure-allowed-ip-ranges": "0.0.0.0/0, ::/0"}, nil, false, ""},
		"sources here": {annotations{beta + "azure-allowed-ip-ranges": "10.0.0.0/8", own + "acl-allowed-sources": ""},
			nil, false, ""},
		"groups of Tencent, said here": {annotations{"service.cloud.tencent.com/security-groups": "sg-1",
			own + "security-groups": "sg-2"}, nil, false, ""},
		"a group of its own here": {annotations{beta + "aws-load-balancer-security-groups": "sg-1",
			own + "create-security-group": "true"}, nil, false, ""},
		"sources of the only port here": {annotations{beta + "azure-allowed-ip-ranges": "10.0.0.0/8",
			own + "acl-port-80": "10.0.0.0/8"}, nil, false, ""},
		"ranges here": {annotations{beta + "azure-allowed-ip-ranges": "10.0.0.0/8"}, []string{"192.0.2.0/24"}, false,
			""},
		"the annotation for ranges here": {annotations{beta + "azure-allowed-ip-ranges": "10.0.0.0/8",
			beta + "load-balancer-source-ranges": "192.0.2.0/24"}, nil, false, ""},
		"ranges that are denied in Cilium": {annotations{"service.cilium.io/src-ranges-policy": "deny"},
			[]string{"192.0.2.0/24"}, true, "src-ranges-policy: this load balancer would admit the networks of " +
				"spec.loadBalancerSourceRanges, which Cilium denies. Write the permitted networks there, and " +
				"remove this annotation. Until"},
		"a health check": {annotations{beta + "aws-load-balancer-healthcheck-path": "/x"}, nil, false,
			own + "health-check-…"},
		"TLS": {annotations{beta + "aws-load-balancer-ssl-cert": "arn:x"}, nil, false, "do not terminate TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			web.Annotations, web.Spec.LoadBalancerSourceRanges = tt.has, tt.ranges
			d := desiring(web)
			d.blocked = blockedReasons(d, Observed{})
			_, err := d.openablePorts(Observed{})
			_, notices := newAnnotations().read(web)
			if (err != nil) != tt.closed || (len(notices) == 1) != (tt.notice != "") || len(notices) > 1 {
				t.Fatalf("closed by %v, want %t; notices %v, want %q", err, tt.closed, notices, tt.notice)
			}
			if tt.notice == "" {
				return
			}
			reason := map[bool]string{true: reasonAnnotation, false: reasonUnsupported}[tt.closed]
			if notices[0].Reason != reason || !strings.Contains(notices[0].Message, tt.notice) ||
				!strings.HasSuffix(notices[0].Message, ".") {
				t.Errorf("notice %+v, want one of %s with %q", notices[0], reason, tt.notice)
			}
			d.blocked = blockedReasons(d, having(80))
			if ports, err := d.openablePorts(having(80)); len(ports) != 1 || err != nil {
				t.Errorf("of an open port, %v stay open: %v", ports, err)
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
