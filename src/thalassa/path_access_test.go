package thalassa

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The clients of these tests are the 1st, who is a friend, the 2nd, who is only sometimes, and the 3rd, who never is.

// admitted says who of them gets in at each of the ports: "1 2 3, 1".
func (p *pathLab) admitted(address string, ports ...int32) string {
	p.Helper()
	text := ""
	for i, port := range ports {
		if i > 0 {
			text += ","
		}
		for n := byte(1); n <= 3; n++ {
			if p.reaches(n, address, port) == "a" {
				text += fmt.Sprintf(" %d", n)
			}
		}
	}
	return text
}

// newAccess is a cloud with a machine, and a Service whose two ports are open to all.
func newAccess(t *testing.T) (*pathLab, *corev1.Service, string) {
	t.Helper()
	p := newPath(t, "a")
	web := service("web", 2080, 2443)
	annotated("health-check-enabled", "false")(web)
	p.serve(web)
	address := p.apply(web)
	p.is("without restrictions", p.admitted(address, 2080, 2443), " 1 2 3, 1 2 3")
	return p, web, address
}

// TestPathSources: whoever is allowed gets in and everybody else is refused, whatever says so; and all get in once
// nothing does.
func TestPathSources(t *testing.T) {
	p, web, address := newAccess(t)
	first, second := p.client(1).String(), p.client(2).String()
	for _, tt := range []struct {
		name   string
		ranges []string
		pairs  []string
		want   string
	}{
		{"for all ports", nil, []string{"acl-allowed-sources", first}, " 1, 1"},
		{"more", nil, []string{"acl-allowed-sources", first + "/32, " + second}, " 1 2, 1 2"},
		{"another", nil, []string{"acl-allowed-sources", second}, " 2, 2"},
		{"for one port", nil, []string{"acl-port-p2080", first}, " 1, 1 2 3"},
		{"for one port by number", nil, []string{"acl-port-2443", second}, " 1 2 3, 2"},
		{"for all and more for one", nil, []string{"acl-allowed-sources", first, "acl-port-2443", second}, " 1, 1 2"},
		{"in the spec", []string{first + "/32"}, nil, " 1, 1"},
		{"in the spec and by annotation", []string{first + "/32"}, []string{"acl-port-p2080", second}, " 1 2, 1"},
		{"nobody of us", []string{"192.0.2.0/24"}, nil, ","},
		{"everybody, in so many words", nil, []string{"acl-allowed-sources", "0.0.0.0/0,::/0"}, " 1 2 3, 1 2 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := web.DeepCopy()
			asked.Spec.LoadBalancerSourceRanges = tt.ranges
			annotated(tt.pairs...)(asked)
			p.apply(asked)
			if got := p.admitted(address, 2080, 2443); got != tt.want {
				t.Errorf("admitted: %q, want %q", got, tt.want)
			}
			p.apply(web)
			if got := p.admitted(address, 2080, 2443); got != " 1 2 3, 1 2 3" {
				t.Errorf("admitted once it is removed: %q, want all", got)
			}
		})
	}
}

// TestPathUnreadableSources: who is in stays in and who is out stays out, streams go on, and no port is opened.
func TestPathUnreadableSources(t *testing.T) {
	for _, unreadable := range []struct {
		name  string
		apply func(*corev1.Service)
	}{
		{"for all ports", annotated("acl-allowed-sources", "127.0.0.1, office")},
		{"for all ports beside the spec", func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"127.0.0.0/8"}
			annotated("acl-allowed-sources", "office")(s)
		}},
		{"in the spec", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"127.0.0.0/33"} }},
	} {
		t.Run(unreadable.name, func(t *testing.T) {
			p, web, address := newAccess(t)
			more := service("more", 2743)
			p.serve(more)
			for _, before := range []struct {
				name  string
				apply func(*corev1.Service)
				want  string
			}{
				{"open", func(*corev1.Service) {}, " 1 2 3, 1 2 3,"},
				{"closed to most", annotated("acl-allowed-sources", p.client(1).String(), "acl-port-2443",
					p.client(2).String()), " 1, 1 2,"},
			} {
				asked := web.DeepCopy()
				before.apply(asked)
				p.apply(asked)
				open := p.streamTo("a", address, 2080)
				unreadable.apply(asked)
				asked.Spec.Ports = append(asked.Spec.Ports, more.Spec.Ports...)
				_, _ = p.ensure(asked, p.allNodes) // which may say that a port is not opened
				p.is(before.name+" before", p.admitted(address, 2080, 2443, 2743), before.want)
				p.is("the stream that was open", open.say("still"), "a 32080/tcp still")
			}
		})
	}
}

// TestPathUnreadableSourcesOfOnePort: they close that port only, and never open it.
func TestPathUnreadableSourcesOfOnePort(t *testing.T) {
	p := newPath(t, "a")
	web := service("web", 2080, 2443)
	annotated("health-check-enabled", "false", "acl-port-p2443", "office")(web)
	p.serve(web)
	address := p.apply(web)
	p.reported("a port is not opened", reasonAnnotation, "ports that it applies to are not opened")
	p.is("made with it", p.admitted(address, 2080, 2443), " 1 2 3,")
	annotated("acl-port-p2443", p.client(2).String())(web)
	p.apply(web)
	p.is("readable", p.admitted(address, 2080, 2443), " 1 2 3, 2")
}
