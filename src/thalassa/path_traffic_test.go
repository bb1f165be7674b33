package thalassa

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// unchecked is a Service whose machines all get traffic, so that only its policy chooses.
func unchecked(name string, ports ...int32) *corev1.Service {
	s := service(name, ports...)
	annotated("health-check-enabled", "false")(s)
	return s
}

// TestPathProxyProtocol: the pods of the port that asks for it, and of no other, hear first where the client is and
// what it connected to.
func TestPathProxyProtocol(t *testing.T) {
	p := newPath(t, "a")
	web := unchecked("web", 2080, 2443)
	p.serve(web)
	address := p.apply(web)
	// Everything that the machine hears first, with the port that the client has this time.
	heard := func(port int32) string {
		conn, err := p.dial("tcp", 7, address, port)
		if err != nil {
			t.Fatal(err)
		}
		_, from, _ := net.SplitHostPort(conn.LocalAddr().String())
		_, to, _ := net.SplitHostPort(conn.RemoteAddr().String())
		text := strings.Replace(conn.say("hello"), p.client(7).String()+" "+address+" "+from+" "+to, "CLIENT", 1)
		return text
	}
	const plain80, plain443 = "a 32080/tcp hello", "a 32443/tcp hello"
	const header80, header443 = "a 32080/tcp PROXY TCP4 CLIENT", "a 32443/tcp PROXY TCP4 CLIENT"
	for _, tt := range []struct {
		name, annotation, http, https string
	}{
		{"not asked for", "", plain80, plain443},
		{"for all ports", "enable-proxy-protocol", header80, header443},
		{"for one port by name", "enable-proxy-protocol.p2443", plain80, header443},
		{"for one port by number", "enable-proxy-protocol.2080", header80, plain443},
		{"removed", "", plain80, plain443},
	} {
		asked := web.DeepCopy()
		if tt.annotation != "" {
			annotated(tt.annotation, "true")(asked)
		}
		p.apply(asked)
		p.is(tt.name+", one port", heard(2080), tt.http)
		p.is(tt.name+", the other port", heard(2443), tt.https)
	}
}

// TestPathClientAddress: a server sees the address of the load balancer, whatever externalTrafficPolicy says; with the
// PROXY protocol it gets the client's.
func TestPathClientAddress(t *testing.T) {
	for _, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster,
		corev1.ServiceExternalTrafficPolicyLocal} {
		t.Run(string(policy), func(t *testing.T) {
			p := newPath(t, "a")
			web := service("web", 2080)
			if web.Spec.ExternalTrafficPolicy = policy; policy == corev1.ServiceExternalTrafficPolicyLocal {
				web.Spec.HealthCheckNodePort = 32700
				p.hosts["a"].answerHTTP(32700, "/healthz")
			}
			p.serve(web)
			address := p.apply(web)
			p.becomes("it serves", "a", p.reaching(address, 2080))
			conn := p.streamTo("a", address, 2080)
			p.is("the sender that the server sees", conn.say(sender), "a 32080/tcp "+address)

			annotated("enable-proxy-protocol", "true")(web)
			p.apply(web)
			reported, err := p.dial("tcp", 7, address, 2080)
			if err != nil {
				t.Fatal(err)
			}
			header := reported.say(sender) // which comes first
			p.is("the beginning of the header", strings.Join(strings.Fields(header)[:5], " "),
				"a 32080/tcp PROXY TCP4 "+p.client(7).String())
		})
	}
}

// TestPathRoundRobin: without being asked for and after another one, each machine has its turn, always in the same
// order.
func TestPathRoundRobin(t *testing.T) {
	p := newPath(t, "a", "b", "c")
	web := unchecked("web", 2080)
	p.serve(web)
	for _, policy := range []string{"", "RANDOM", "ROUND_ROBIN", "MAGLEV", ""} {
		delete(web.Annotations, label.AnnotationPrefix+"loadbalancing-policy")
		if policy != "" {
			annotated("loadbalancing-policy", policy)(web)
		}
		address := p.apply(web)
		if got := p.turns(24, 1, address, 2080); inTurn(got) != (policy == "" || policy == "ROUND_ROBIN") {
			t.Errorf("policy %q: the machines are chosen so: %v", policy, got)
		}
	}
}

// inTurn says that three machines are chosen one after the other.
func inTurn(names []string) bool {
	first := slices.Clone(names[:3])
	slices.Sort(first)
	return slices.Equal(first, []string{"a", "b", "c"}) && slices.Equal(names, slices.Repeat(names[:3], len(names)/3))
}

// TestPathRandom: all machines are chosen, by the same client, and not one after the other.
func TestPathRandom(t *testing.T) {
	p := newPath(t, "a", "b", "c")
	web := unchecked("web", 2080)
	annotated("loadbalancing-policy", "RANDOM")(web)
	p.serve(web)
	got := p.turns(60, 1, p.apply(web), 2080)
	all := slices.Clone(got)
	slices.Sort(all)
	if inTurn(got) || !slices.Equal(slices.Compact(all), []string{"a", "b", "c"}) {
		t.Errorf("the machines are chosen so: %v", got)
	}
}

// TestPathMaglev: a client comes to the same machine every time, not all clients to one, and when a machine goes the
// clients of the others stay where they are.
func TestPathMaglev(t *testing.T) {
	p := newPath(t, "a", "b", "c")
	web := unchecked("web", 2080, 2443)
	annotated("loadbalancing-policy.p2080", "MAGLEV")(web)
	p.serve(web)
	address := p.apply(web)
	const clients = 60
	homes := map[byte]string{}
	var used []string
	for n := byte(1); n <= clients; n++ {
		homes[n] = p.reaches(n, address, 2080)
		if len(homes[n]) != 1 {
			t.Errorf("client %d comes to machines %q, want one of them", n, homes[n])
		}
		used = append(used, homes[n])
	}
	slices.Sort(used)
	p.is("the machines that clients come to", strings.Join(slices.Compact(used), " "), "a b c")
	p.is("the port that has another policy", p.reaches(1, address, 2443), "a b c")
	p.settle(web, p.allNodes[1:])
	for n, home := range homes {
		if home != "a" {
			p.is("client "+strconv.Itoa(int(n))+" after machine a is gone", p.reaches(n, address, 2080), home)
		}
	}
}

// TestPathConnections: no more connections than the Service says are open at a time, and the next one may come when one
// is closed.
func TestPathConnections(t *testing.T) {
	p := newPath(t, "a")
	web := unchecked("web", 2080, 2443)
	annotated("max-connections.p2080", "2")(web)
	p.serve(web)
	address := p.apply(web)
	first, second := p.streamTo("a", address, 2080), p.streamTo("a", address, 2080)
	p.is("the third one", p.ask(1, address, 2080), "refused")
	for range 3 {
		p.streamTo("a", address, 2443)
	}
	_ = first.Close()
	p.becomes("the next one after one is closed", "a 32080/tcp hello", func() string { return p.ask(1, address, 2080) })
	delete(web.Annotations, label.AnnotationPrefix+"max-connections.p2080")
	p.apply(web)
	for range 3 { // more than the limit was, with the one that is open
		p.streamTo("a", address, 2080)
	}
	p.is("the one that was open all the time", second.say("still"), "a 32080/tcp still")
}

// TestPathIdleTimeout: a connection that is not used is closed after the time that the Service says for its port, one
// that is used is not.
func TestPathIdleTimeout(t *testing.T) {
	t.Parallel()
	p := newPath(t, "a")
	web := unchecked("web", 2080, 2443)
	annotated("idle-connection-timeout.p2080", "2")(web)
	p.serve(web)
	address := p.apply(web)
	idle, busy, patient := p.streamTo("a", address, 2080), p.streamTo("a", address, 2080),
		p.streamTo("a", address, 2443)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = idle.Read(make([]byte, 1)) // whatever ends it
	}()
	p.becomes("the connection that is not used", "closed", func() string {
		p.is("the connection that is used", busy.say("still"), "a 32080/tcp still")
		select {
		case <-ended:
			return "closed"
		default:
			return "open"
		}
	})
	p.is("the connection to the other port", patient.say("still"), "a 32443/tcp still")
}
