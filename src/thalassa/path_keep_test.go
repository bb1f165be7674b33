package thalassa

import (
	"fmt"
	"slices"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
)

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

// TestPathKeepAndAdopt: a load balancer that is kept leads where it led when its Service is deleted, to node ports that
// nobody serves any more once Kubernetes has released them; who adopts it gets its address, for its own node ports and
// nodes. Streams survive until the node port changes; without keep nothing is left.
func TestPathKeepAndAdopt(t *testing.T) {
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
