package thalassa

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// watched starts the service controller in a cluster with all nodes, and nothing else yet.
func (p *pathLab) watched() *cluster.Cluster {
	p.Helper()
	c := cluster.New()
	for _, node := range p.allNodes {
		p.must(c.Create(node))
	}
	client, err := cluster.Client(c.Transport())
	p.must(err)
	p.control(client)
	return c
}

func (p *pathLab) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// shownBy is the address that the Service of this name shows, or "".
func shownBy(c *cluster.Cluster, name string) string {
	for _, service := range c.Services() {
		if service.Name == name {
			return ips(&service.Status.LoadBalancer)
		}
	}
	return ""
}

// creates makes a Service and waits for its address.
func (p *pathLab) creates(c *cluster.Cluster, service *corev1.Service) string {
	p.Helper()
	p.must(c.Create(service))
	p.becomes("an address is published", "true", func() string {
		if shownBy(c, service.Name) != "" {
			return "true"
		}
		return "false"
	})
	return shownBy(c, service.Name)
}

// labels changes the labels of a node.
func (p *pathLab) labels(c *cluster.Cluster, name string, labels map[string]string) {
	p.Helper()
	like := &corev1.Node{}
	like.Name = name
	p.must(c.Change(like, func(node cluster.Object) { node.SetLabels(labels) }))
}

// annotates changes an annotation of a Service; an empty value removes it.
func (p *pathLab) annotates(c *cluster.Cluster, service *corev1.Service, name, value string) {
	p.Helper()
	p.must(c.Change(service, func(object cluster.Object) {
		all := object.GetAnnotations()
		all[label.AnnotationPrefix+name] = value
		if value == "" {
			delete(all, label.AnnotationPrefix+name)
		}
		object.SetAnnotations(all)
	}))
}

// TestConnectionsToSelectedNodes: connections come to the nodes that match and to no others, as their labels and the
// selector change; streams to nodes that go on matching survive.
func TestConnectionsToSelectedNodes(t *testing.T) {
	t.Parallel()
	p := newPath(t, "a", "b", "c")
	edge := map[string]string{"tier": "edge"}
	p.allNodes[0].Labels, p.allNodes[1].Labels = edge, edge
	c := p.watched()
	web, all := unchecked("web", 2080), unchecked("all", 2443)
	annotated("node-selector", "tier=edge")(web)
	p.serve(web, all)
	address, open := p.creates(c, web), p.creates(c, all)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	stays := p.streamTo("b", address, 2080)

	p.labels(c, "c", edge)
	p.becomes("when c matches", "a b c", p.reaching(address, 2080))
	p.labels(c, "a", nil)
	p.becomes("when a does not", "b c", p.reaching(address, 2080))
	p.is("the stream to b", stays.say("still"), "b 32080/tcp still")
	p.is("the Service without a selector", p.reaches(1, open, 2443), "a b c")

	p.annotates(c, web, "node-selector", "tier=nowhere")
	p.annotates(c, web, "max-connections", "777") // once this is there, so is the other
	p.becomes("the cloud has followed", "777", func() string { return p.limitOf(address) })
	p.is("a selector that no node matches", p.reaches(1, address, 2080), "b c")
	p.annotates(c, web, "node-selector", "")
	p.becomes("without a selector", "a b c", p.reaching(address, 2080))
	p.is("the stream to b", stays.say("still"), "b 32080/tcp still")
}

// TestConnectionsToExcludedNodes: with the policy Local, connections come to the pods on an excluded node while there
// are no others, and to the others as soon as there are some.
func TestConnectionsToExcludedNodes(t *testing.T) {
	t.Parallel()
	p := newPath(t, "a", "b")
	p.allNodes[0].Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
	c := p.watched()
	web := service("web", 2080)
	web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32700
	p.serve(web)
	p.hosts["a"].answerHTTP(32700, "/healthz")
	p.hosts["b"].answerHTTP(32700, "/healthz")
	slice := endpointsOf(web, "a")
	p.must(c.Create(slice))
	address := p.creates(c, web)
	p.becomes("pods on an excluded node only", "a", p.reaching(address, 2080))
	p.must(c.Change(slice, func(object cluster.Object) {
		if changed, ok := object.(*discoveryv1.EndpointSlice); ok {
			changed.Endpoints = endpointsOf(web, "a", "b").Endpoints
		}
	}))
	p.becomes("pods on both", "b", p.reaching(address, 2080))
}

// at is the load balancer with an address.
func (p *pathLab) at(address string) shown {
	p.Helper()
	for _, balancer := range p.list("/v1/loadbalancers") {
		if slices.Contains(balancer.ExternalIPAddresses, address) {
			return balancer
		}
	}
	p.Fatalf("no load balancer has the address %s", address)
	return shown{}
}

// limitOf is how many connections the first port of the load balancer with an address takes.
func (p *pathLab) limitOf(address string) string {
	p.Helper()
	return fmt.Sprint(p.at(address).Listeners[0].MaxConnections)
}

// gone waits until there is no Service of this name.
func (p *pathLab) gone(c *cluster.Cluster, name string) {
	p.Helper()
	p.becomes("Services of that name", "0", func() string {
		found := 0
		for _, service := range c.Services() {
			if service.Name == name {
				found++
			}
		}
		return fmt.Sprint(found)
	})
}

// TestConnectionsOfAKeptLoadBalancer: a load balancer that is kept leads where it led when its Service is deleted, to
// node ports that nobody serves any more once Kubernetes has released them; who adopts it gets its address, for its
// own node ports and nodes. Streams survive until the node port changes; without keep nothing is left.
func TestConnectionsOfAKeptLoadBalancer(t *testing.T) {
	t.Parallel()
	p := newPath(t, "a", "b")
	c := p.watched()
	first, second := service("first", 2080), service("second", 2080)
	second.Spec.Ports[0].NodePort = 33080
	annotated("on-delete", "keep")(first)
	p.serve(first)
	address := p.creates(c, first)
	p.becomes("at first", "a b", p.reaching(address, 2080))
	stream := p.streamTo("a", address, 2080)

	p.must(c.Delete(first))
	p.gone(c, "first")
	p.is("when its Service is gone", p.reaches(1, address, 2080), "a b")
	for _, name := range []string{"a", "b"} {
		p.hosts[name].die(32080)
	}
	p.becomes("once the node ports are released", "refused", p.reaching(address, 2080))
	p.is("the stream", stream.say("still"), "a 32080/tcp still")
	p.machine("c")
	p.must(c.Create(p.allNodes[2]))
	for _, name := range []string{"a", "b", "c"} {
		p.hosts[name].listen(33080)
	}

	balancer := p.at(address)
	p.request("PUT", "/v1/loadbalancers/"+balancer.Identity, map[string]any{
		"name": balancer.Name, "labels": balancer.Labels,
		"annotations": map[string]string{annotationAdoptable: "k8s-test/shop/second"},
	})
	annotated("adopt", balancer.Identity)(second)
	p.is("what the one that adopts it publishes", p.creates(c, second), address)
	p.becomes("adopted, with the nodes of now", "a b c", p.reaching(address, 2080))
	p.must(c.Delete(p.allNodes[1]))
	p.becomes("when a node leaves", "a c", p.reaching(address, 2080))

	p.must(c.Delete(second))
	p.gone(c, "second")
	p.is("when that Service is gone, which does not keep it", p.reaches(1, address, 2080), "refused")
	if left := p.leftovers(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}
