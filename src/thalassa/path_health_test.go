package thalassa

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestPathDefaultHealthCheck: without a word of the Service, a machine that does not answer on the node port of a port
// gets no traffic of that port until it answers again, and goes on to get that of the other ports.
func TestPathDefaultHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080, 2443)
	p.serve(web)
	address := p.apply(web)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	p.becomes("the other port at first", "a b", p.reaching(address, 2443))
	p.hosts["a"].die(32080)
	p.becomes("when a is dead", "b", p.reaching(address, 2080))
	p.becomes("the other port when a is dead", "a b", p.reaching(address, 2443))
	p.hosts["a"].listen(32080)
	p.becomes("when a is back", "a b", p.reaching(address, 2080))
}

// TestPathNoHealthCheck: switched off for one port, a machine that is dead gets its share of that one.
func TestPathNoHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080, 2443)
	annotated("health-check-enabled.p2080", "false")(web)
	p.serve(web)
	p.hosts["a"].die(32080)
	p.hosts["a"].die(32443)
	address := p.apply(web)
	p.becomes("the port with one", "b", p.reaching(address, 2443))
	p.becomes("the port without a health check", "b refused", p.reaching(address, 2080))
	delete(web.Annotations, label.AnnotationPrefix+"health-check-enabled.p2080")
	p.apply(web)
	p.becomes("switched on again", "b", p.reaching(address, 2080))
}

// TestPathHTTPHealthCheck: asked for by annotation, on a port and a path of their own and for one port of the Service;
// streams that are open survive it.
func TestPathHTTPHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080, 2443)
	annotated("health-check-port.p2080", "32701", "health-check-path", "/ready", "health-check-down-threshold", "1",
		"health-check-up-threshold", "1")(web)
	p.serve(web)
	ready := p.hosts["a"].answerHTTP(32701, "/ready")
	p.hosts["b"].answerHTTP(32701, "/ready")
	address := p.apply(web)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	p.becomes("the other port at first", "a b", p.reaching(address, 2443))
	stays := p.streamTo("a", address, 2080)
	ready.Store(http.StatusServiceUnavailable)
	p.becomes("when a is not ready", "b", p.reaching(address, 2080))
	p.becomes("the other port when a is not ready", "a b", p.reaching(address, 2443))
	p.is("the stream that was open", stays.say("still"), "a 32080/tcp still")
	ready.Store(http.StatusOK)
	p.becomes("when a is ready", "a b", p.reaching(address, 2080))

	annotated("health-check-path", "/live")(web)
	p.apply(web)
	p.becomes("with a path that nobody answers", "refused", p.reaching(address, 2080))
	delete(web.Annotations, label.AnnotationPrefix+"health-check-path")
	delete(web.Annotations, label.AnnotationPrefix+"health-check-port.p2080")
	p.apply(web)
	p.becomes("without it", "a b", p.reaching(address, 2080))
}

// TestPathHTTPSHealthCheck: certificates of machines are not verified; one that answers over TLS is asked over nothing
// else.
func TestPathHTTPSHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080)
	annotated("health-check-port", "32702", "health-check-path", "/ready", "health-check-protocol", "https",
		"health-check-down-threshold", "1", "health-check-up-threshold", "1")(web)
	p.serve(web)
	ready := p.hosts["a"].answerHTTPS(32702, "/ready")
	p.hosts["b"].answerHTTPS(32702, "/ready")
	address := p.apply(web)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	ready.Store(http.StatusServiceUnavailable)
	p.becomes("when a is not ready", "b", p.reaching(address, 2080))
	annotated("health-check-protocol", "http")(web)
	p.apply(web)
	p.becomes("when TLS is asked without it", "refused", p.reaching(address, 2080))
	annotated("health-check-protocol", "https")(web)
	p.apply(web)
	p.becomes("over TLS again", "b", p.reaching(address, 2080))
}

// TestPathUDPHealthCheck: a machine on which nobody listens says so at once.
func TestPathUDPHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080)
	annotated("health-check-port", "32703", "health-check-protocol", "udp", "health-check-down-threshold", "1",
		"health-check-up-threshold", "1")(web)
	p.serve(web)
	p.hosts["a"].listenUDP(32703)
	p.hosts["b"].listenUDP(32703)
	address := p.apply(web)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	p.hosts["a"].die(32703)
	p.becomes("when nobody listens on a", "b", p.reaching(address, 2080))
	p.hosts["a"].listenUDP(32703)
	p.becomes("when somebody does again", "a b", p.reaching(address, 2080))
}

// TestPathLocalHealthCheck: with the policy Local a machine gets traffic while it says, on the port that Kubernetes has
// for that, that pods of the Service run there.
func TestPathLocalHealthCheck(t *testing.T) {
	p := newPath(t, "a", "b")
	web := service("web", 2080)
	web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32700
	p.serve(web)
	onA, onB := p.hosts["a"].answerHTTP(32700, "/healthz"), p.hosts["b"].answerHTTP(32700, "/healthz")
	onB.Store(http.StatusServiceUnavailable)
	address := p.apply(web)
	p.becomes("the pod on a", "a", p.reaching(address, 2080))
	onB.Store(http.StatusOK)
	onA.Store(http.StatusServiceUnavailable)
	p.becomes("the pod on b", "b", p.reaching(address, 2080))
	web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyCluster, 0
	p.apply(web)
	p.becomes("any node again", "a b", p.reaching(address, 2080))
}

// streamTo is an open connection of the first client that one of the machines answers.
func (p *pathLab) streamTo(name, address string, port int32) *stream {
	p.Helper()
	for range 100 {
		conn, err := p.dial("tcp", 1, address, port)
		if err != nil {
			p.Fatal(err)
		}
		if answer := conn.say("who"); len(answer) > len(name) && answer[:len(name)+1] == name+" " {
			return conn
		}
		_ = conn.Close()
	}
	p.Fatalf("no connection leads to machine %s", name)
	return nil
}
