package policytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// balanced is a Service of type LoadBalancer with these annotations.
func balanced(namespace string, annotations map[string]string) *corev1.Service {
	s := service(namespace, annotations)
	s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeLoadBalancer, ""
	return s
}

// agreeOnForeign wants the API server to refuse exactly what keeps ports closed, in the parser's words, and reports
// whether it does.
func agreeOnForeign(t *testing.T, client kubernetes.Interface, registry *annotation.Registry, s *corev1.Service) bool {
	t.Helper()
	var closing []annotation.Problem
	_, problems := registry.ParseService(s)
	for _, problem := range problems {
		if problem.Meant != "" {
			closing = append(closing, problem)
		}
	}
	err := create(t.Context(), client, s)
	switch {
	case err != nil && !apierrors.IsInvalid(err), (err == nil) != (len(closing) == 0):
		t.Errorf("%v: the parser says %v, the API server %v", s.Annotations, problems, short(err))
	case err != nil && !strings.HasSuffix(err.Error(), "denied request: "+closing[0].String()):
		t.Errorf("%v: the parser says %v, the API server %v", s.Annotations, closing[0], short(err))
	}
	return err != nil
}

// TestForeignAnnotationsAgree asks parser and policy of each cloud about annotations of other products.
func TestForeignAnnotationsAgree(t *testing.T) {
	client, namespace := cluster(t)
	for name, tt := range map[string]struct {
		policy   policy
		registry *annotation.Registry
	}{
		"Thalassa Cloud": {rendered(t, "thalassa-ccm"), thalassa.Annotations()},
		"IronCore":       {ironcorePolicy(t), balancer.Registry()},
	} {
		t.Run(name, func(t *testing.T) {
			wantNoWarnings(t, client, namespace, tt.policy, tt.registry.Prefix())
			refused, accepted := 0, 0
			for i, foreign := range tt.registry.Foreign() {
				values := []string{"x"}
				if tt.registry.Enforces(foreign.Concept) {
					values = slices.Concat(foreign.Harmless, []string{"true", "False", " FALSE ", "", "0.0.0.0/0",
						"Internal", "p\u212a"}, some(networks(), tier.Pick(3, 1), i))
				}
				for _, value := range values {
					s := balanced(namespace, map[string]string{foreign.Name: value})
					if annotation.IsFamily(foreign.Name) {
						s = balanced(namespace, map[string]string{foreign.Name + "x": value})
					}
					if agreeOnForeign(t, client, tt.registry, s) {
						refused++
					} else {
						accepted++
					}
				}
			}
			if refused < 50 || accepted < 50 {
				t.Errorf("accepted %d, refused %d: these values test too little", accepted, refused)
			}
		})
	}
}

// networks are lists that contain every address, and lists that do not.
func networks() []string {
	return []string{
		"0.0.0.0/0", "::/0", "0.0.0.0/0,::/0", " 0.0.0.0/0 , ::/0,", "10.0.0.0/8", "10.0.0.0/8,0.0.0.0/0",
		"10.0.0.0/8,::/0", "2001:db8::/32,0.0.0.0/0", "::1/0", "10.1.2.3/0", "0.0.0.0/00", "0.0.0.0", "::", "x/0", ",",
		"cidr:0.0.0.0/0", "CIDR:::/0", "cidr:10.0.0.0/8", "ip:10.0.0.1", "0.0.0.0/0;::/0", "::ffff:0.0.0.0/0",
		"fe80::%eth0/0", "deny", "Deny", "allow", strings.Repeat("0.0.0.0/0,", 409), strings.Repeat("0.0.0.0/0,", 410),
	}
}

// TestForeignAnnotationsBesideOurs: parser and policy agree on which Services have the annotation of this cloud, too.
func TestForeignAnnotationsBesideOurs(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	const beta = "service.beta.kubernetes.io/"
	ours := registry.Prefix()
	for name, tt := range map[string]struct {
		annotations map[string]string
		ranges      []string
		refused     bool
	}{
		"internal": {map[string]string{beta + "aws-load-balancer-internal": "true"}, nil, true},
		"internal, by type": {map[string]string{beta + "aws-load-balancer-internal": "true",
			ours + "type": "public"}, nil, false},
		"internal, with ranges": {map[string]string{beta + "aws-load-balancer-internal": "true"},
			[]string{"10.0.0.0/8"}, true},
		"internal, implied": {map[string]string{beta + "aws-load-balancer-type": "external"}, nil, true},
		"public, and not implied": {map[string]string{beta + "aws-load-balancer-type": "external",
			"service.kubernetes.io/aws-load-balancer-scheme": "internet-facing"}, nil, false},
		"sources, with ranges": {map[string]string{beta + "azure-allowed-ip-ranges": "10.0.0.0/8"},
			[]string{"10.0.0.0/8"}, false},
		"sources, with the annotation for ranges": {map[string]string{beta + "azure-allowed-ip-ranges": "10.0.0.0/8",
			beta + "load-balancer-source-ranges": "10.0.0.0/8"}, nil, false},
		"sources of one port": {map[string]string{beta + "azure-allowed-ip-ranges": "10.0.0.0/8",
			ours + "acl-port-http": "10.0.0.0/8"}, nil, true},
		"sources of all ports": {map[string]string{beta + "azure-allowed-ip-ranges": "10.0.0.0/8",
			ours + "acl-port-http": "10.0.0.0/8", ours + "acl-port-53": "::1", ours + "acl-port-443": "::1"}, nil,
			false},
		"denied ranges": {map[string]string{"service.cilium.io/src-ranges-policy": "deny"},
			[]string{"10.0.0.0/8"}, true},
		"nothing denied": {map[string]string{"service.cilium.io/src-ranges-policy": "deny"}, nil,
			false},
		"groups": {map[string]string{beta + "aws-load-balancer-security-groups": "sg-1"}, nil, true},
		"groups, said here": {map[string]string{beta + "aws-load-balancer-security-groups": "sg-1",
			ours + "security-groups": "sg-2"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := balanced(namespace, tt.annotations)
			s.Spec.LoadBalancerSourceRanges = tt.ranges
			if agreeOnForeign(t, client, registry, s) != tt.refused {
				t.Errorf("refused: %t, want %t", !tt.refused, tt.refused)
			}
		})
	}
}

// TestForeignAnnotationsBesideDefaults: parser and policy agree on which defaults have the effect of an annotation on
// each Service.
func TestForeignAnnotationsBesideDefaults(t *testing.T) {
	client, namespace := cluster(t)
	const beta = "service.beta.kubernetes.io/"
	const internal, sources, groups = beta + "azure-load-balancer-internal", beta + "azure-allowed-ip-ranges",
		beta + "aws-load-balancer-security-groups"
	for name, tt := range map[string]struct {
		defaults map[string]string
		refused  []string // the annotations
	}{
		"internal-type": {map[string]string{"type": "internal"}, []string{sources, groups}},
		"internal":      {map[string]string{"internal": "T", "publish": "ip"}, []string{sources, groups}},
		"public":        {map[string]string{"type": "public"}, []string{internal, sources, groups}},
		"not-internal":  {map[string]string{"internal": "false"}, []string{internal, sources, groups}},
		"sources":       {map[string]string{"acl-allowed-sources": "10.0.0.0/8"}, []string{internal}},
		"groups":        {map[string]string{"security-groups": "sg-1"}, []string{internal, sources}},
	} {
		t.Run(name, func(t *testing.T) {
			registry, of, values := thalassa.Annotations(), release(t, "defaults-"+name), map[string]any{}
			if problems := registry.SetDefaults(tt.defaults); len(problems) > 0 {
				t.Fatal(problems)
			}
			for key, value := range tt.defaults {
				values[key] = value
			}
			cloudConfig, _ := of.Values["cloudConfig"].(map[string]any)
			cloudConfig["loadBalancer"] = map[string]any{"defaults": values}
			install(t, client, namespace, renderedFrom(t, of), registry.Prefix())
			for _, foreign := range []string{internal, sources, groups} {
				s := balanced(namespace, map[string]string{foreign: "true"})
				if refused := agreeOnForeign(t, client, registry, s); refused != slices.Contains(tt.refused, foreign) {
					t.Errorf("%s: refused: %t", foreign, refused)
				}
			}
		})
	}
}

// TestForeignAnnotationsOfOthersServices: a Service that another program serves, or none, may have its annotations.
func TestForeignAnnotationsOfOthersServices(t *testing.T) {
	client, namespace := cluster(t)
	internal := map[string]string{"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
	classed := func(class string) *corev1.Service {
		s := balanced(namespace, internal)
		if class != "" {
			s.Spec.LoadBalancerClass = &class
		}
		return s
	}
	with := func(t *testing.T, name string, values map[string]any) policy {
		t.Helper()
		// The API server applies a policy for a moment after its deletion: each one has a name of its own.
		of := release(t, name)
		cloudConfig, _ := of.Values["cloudConfig"].(map[string]any)
		cloudConfig["loadBalancer"] = values
		return renderedFrom(t, of)
	}
	for name, tt := range map[string]struct {
		values  map[string]any
		refused []string // the classes
	}{
		"no-class":          {nil, []string{""}},
		"a-class":           {map[string]any{"class": "example.com/ours"}, []string{"", "example.com/ours"}},
		"no-load-balancers": {map[string]any{"enabled": false}, nil},
		"nothing-but-ours": {map[string]any{"class": "example.com/ours", "onlyClass": true},
			[]string{"example.com/ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			install(t, client, namespace, with(t, name, tt.values), thalassa.Annotations().Prefix())
			for _, class := range []string{"", "example.com/ours", "service.k8s.aws/nlb"} {
				err := create(t.Context(), client, classed(class))
				if refused := slices.Contains(tt.refused, class); (err != nil) != refused {
					t.Errorf("class %q: %v, want a refusal: %t", class, short(err), refused)
				}
			}
			if err := create(t.Context(), client, service(namespace, internal)); err != nil {
				t.Errorf("a Service without a load balancer: %v", err)
			}
		})
	}
}

// TestLongForeignLists are judged, all at once: an evaluation that costs more than the API server allows would let them
// through.
func TestLongForeignLists(t *testing.T) {
	client, namespace := cluster(t)
	registry := thalassa.Annotations()
	install(t, client, namespace, rendered(t, "thalassa-ccm"), registry.Prefix())
	annotations := map[string]string{}
	for _, foreign := range registry.Foreign() {
		if foreign.Concept == annotation.AboutSources {
			annotations[foreign.Name] = strings.Repeat("::,", 1365)
		}
	}
	s := balanced(namespace, annotations)
	for port := range int32(500) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: 10000 + port})
	}
	err := create(t.Context(), client, s)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "denied request: annotation ") {
		t.Errorf("%d lists: %v, want a refusal in the policy's words", len(annotations), short(err))
	}
}
