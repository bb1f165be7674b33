package balancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// desiring is what a Service should have.
func desiring(web *corev1.Service) desired {
	d := desired{}
	d.settings, _ = newAnnotations().read(web)
	d.Desired = cloud.Desire(cloud.OwnerOf("k8s-test", web), web)
	return d
}

// having is what it has: a load balancer with listeners on these ports.
func having(ports ...int) Observed {
	balancer := resource.LoadBalancer{ExternalAddresses: []string{publicV4}}
	for _, port := range ports {
		balancer.Listeners = append(balancer.Listeners, resource.Listener{Port: port, Protocol: "tcp"})
	}
	return Observed{Balancers: []resource.LoadBalancer{balancer}}
}

// upTo are the numbers of as many ports from 1000 on.
func upTo(count int) (ports []int) {
	for i := range count {
		ports = append(ports, 1000+i)
	}
	return ports
}

// TestOpenable: what is open stays so, and nothing is opened by mistake.
func TestOpenable(t *testing.T) {
	acl := annotated("acl-port-443", "nobody")
	internal := annotated("internal", "perhaps")
	hundred := func(count int) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Ports = many(count) }
	}
	tests := map[string]struct {
		change  func(*corev1.Service)
		has     Observed
		open    []int
		refused string
	}{
		"a new Service":                      {annotated(), Observed{}, []int{80, 443}, ""},
		"a port more":                        {annotated(), having(80), []int{80, 443}, ""},
		"sources of one port are unreadable": {acl, Observed{}, []int{80}, ""},
		"sources of one port are unreadable, it is open": {acl, having(443), []int{80, 443}, ""},
		"sources are unreadable": {annotated("acl-allowed-sources", "nobody"), Observed{}, nil,
			"port 443/TCP is not opened"},
		"sources are unreadable, one is open": {annotated("acl-allowed-sources", "nobody"), having(443),
			[]int{443}, ""},
		"who may reach it is not known": {internal, Observed{}, nil,
			"2 of the ports of Service shop/web are not opened: the annotations that make"},
		"who may reach it is not known, one is open":  {internal, having(80), []int{80}, "1 of the ports"},
		"who may reach it is not known, all are open": {internal, having(80, 443), []int{80, 443}, ""},
		"as many as there may be":                     {hundred(100), Observed{}, upTo(100), ""},
		"one more": {hundred(101), Observed{}, nil,
			"101 of them are not opened"},
		"one more, of which all but one are open": {hundred(101), having(upTo(100)...), upTo(100),
			"1 of them are not opened"},
		"one more, of which one is open": {hundred(101), having(1000), []int{1000},
			"100 of them are not opened"},
		"as many as there may be, of which all are there": {hundred(100), having(upTo(100)...), upTo(100), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80, 443)
			tt.change(web)
			d := desiring(web)
			d.blocked = blockedReasons(d, tt.has)
			ports, err := d.openablePorts(tt.has)
			var open []int
			for _, port := range ports {
				open = append(open, int(port.Key.Port))
			}
			if !slices.Equal(open, tt.open) {
				t.Errorf("open are %v, want %v", open, tt.open)
			}
			if (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("refused: %v, want %q", err, tt.refused)
			}
		})
	}
}

// TestClosing: each restriction that cannot be applied keeps new ports closed.
func TestClosing(t *testing.T) {
	tests := map[string]struct {
		annotations []string
		groups      annotation.Setting[[]string]
		has         Observed
		want        string // part of the only reason; "" for none
	}{
		"nothing": {nil, annotation.Setting[[]string]{}, Observed{}, ""},
		"security groups that are there": {nil, annotation.Setting[[]string]{Given: true, Value: []string{"sg-1"}},
			Observed{}, ""},
		"security groups that are not": {nil, annotation.Setting[[]string]{Given: true, Invalid: true}, Observed{},
			"security groups do not exist"},
		"whether it is internal": {[]string{"type", "private"}, annotation.Setting[[]string]{}, Observed{},
			"internal or public are not valid"},
		"that it is public": {[]string{"type", "internal"}, annotation.Setting[[]string]{}, having(80),
			"requests a public one, or the reverse"},
		"whether it has its own group": {[]string{"create-security-group", "perhaps"}, annotation.Setting[[]string]{},
			Observed{}, "create-security-group is not valid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80)
			annotated(tt.annotations...)(web)
			d := desiring(web)
			d.groups = tt.groups
			reasons := blockedReasons(d, tt.has)
			if (len(reasons) == 1) != (tt.want != "") || len(reasons) > 1 || tt.want != "" &&
				!strings.Contains(reasons[0], tt.want) {
				t.Errorf("reasons %q, want %q", reasons, tt.want)
			}
		})
	}
}

// TestClosingByGroupsOfAnotherProduct: no group is looked for, so none is missing.
func TestClosingByGroupsOfAnotherProduct(t *testing.T) {
	web := service("web", 80)
	web.Annotations["service.beta.kubernetes.io/aws-load-balancer-security-groups"] = "sg-1"
	d, _ := NewConfig(cloudconfig.Config{}).Request(web, Observed{}).resolve(References{})
	want := []string{"the annotation about its security groups is not valid"}
	if reasons := blockedReasons(d, Observed{}); !slices.Equal(reasons, want) {
		t.Errorf("reasons %q, want %q", reasons, want)
	}
}

// TestUnreadableSourcesLast until the Service changes, unless something else is in the way, too, which may pass by
// itself.
func TestUnreadableSourcesLast(t *testing.T) {
	for name, tt := range map[string]struct {
		failed, missing error
		closed          []string
		lasts           bool
	}{
		"nothing else":                 {lasts: true},
		"something could not be read":  {failed: errors.New("no answer")},
		"something is missing":         {missing: errors.New("no such reserved IP")},
		"its groups do not exist, too": {closed: []string{"its security groups do not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80, 443)
			annotated("acl-allowed-sources", "nobody")(web)
			d := desiring(web)
			d.failed, d.missing, d.blocked = tt.failed, tt.missing, tt.closed
			_, err := d.openablePorts(Observed{})
			if lasts := cloud.ReasonOf(err).Lasts(); err == nil || lasts != tt.lasts {
				t.Errorf("error %v lasts: %t, want %t", err, lasts, tt.lasts)
			}
		})
	}
}

func TestUnservable(t *testing.T) {
	for protocol, unserved := range map[corev1.Protocol]bool{"": false, corev1.ProtocolTCP: false,
		corev1.ProtocolUDP: false, corev1.ProtocolSCTP: true, "QUIC": true} {
		web := service("web", 80, 443)
		web.Spec.Ports[1].Protocol = protocol
		d := desiring(web).Desired
		problems := dropUnsupported(&d)
		if (len(problems) == 1) != unserved || len(d.Ports) != 2-len(problems) || len(d.Unserved) != len(problems) {
			t.Errorf("%q: %d ports, not served %v, reported %q", protocol, len(d.Ports), d.Unserved, problems)
		}
		if want := fmt.Sprintf("443/%s", protocol); unserved && (d.Unserved[0].String() != want ||
			!strings.Contains(problems[0], want)) {
			t.Errorf("not served is %v, reported %q; want %s", d.Unserved, problems, want)
		}
	}
}
