package thalassa

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
)

// claimStories are about whether a Service has a load balancer of ours at all.
func claimStories() []story {
	return []story{
		{name: "class", begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			theirs, class := anew(web), "example.com/other"
			theirs.Spec.LoadBalancerClass = &class
			return l.kept(web, nodes, deletes(web), creates(theirs))
		}},
		{name: "type", has: asBefore(), begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			ports := slices.Clone(web.Spec.Ports)
			return l.kept(web, nodes, edits(inside), edits(func(web *corev1.Service) {
				web.Spec.Type, web.Spec.Ports = corev1.ServiceTypeLoadBalancer, ports
			}))
		}},
		{name: "recreated", has: asBefore(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			return l.kept(web, nodes, deletes(web), creates(anew(web)))
		}},
		{name: "recreated-bare", has: asBefore(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			return l.tidy(web, nodes, asBefore(), func(c *cluster.Cluster) error { return c.Replace(anew(web)) })
		}},
		{name: "orphan", has: []string{"8080/tcp to 30900 on a b"}, begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			api := service("api", 8080) // were all Services gone, nothing would be removed
			api.Spec.Ports[0].NodePort = 30900
			l.published(api, nodes)
			return l.tidy(api, nodes, []string{"8080/tcp to 30900 on a b"})
		}},
	}
}

// tidy is a process that removes what Services left behind, until the cloud has what it should have.
func (l *lab) tidy(web *corev1.Service, nodes []*corev1.Node, has []string, steps ...step) faulttest.Start {
	l.Helper()
	l.config.LoadBalancer.RemoveOrphans = true
	t := l.testCluster(web, nodes, steps...)
	t.driftChecked, t.met = true, l.has(has)
	return t.start
}

// anew is another Service of the same name.
func anew(web *corev1.Service) *corev1.Service {
	again := service(web.Name, 80, 443)
	again.UID = "9f9e9d9c-" + web.UID
	return again
}

// inside makes a Service one of type ClusterIP, as the API server does.
func inside(web *corev1.Service) {
	web.Spec.Type = corev1.ServiceTypeClusterIP
	for i := range web.Spec.Ports {
		web.Spec.Ports[i].NodePort = 0
	}
}

// policyStories are about externalTrafficPolicy. The Service has endpoints on one node.
func policyStories() []story {
	alone := []string{"443/tcp to 30443 on a", "80/tcp to 30080 on a"}
	return []story{
		{name: "policy-local", has: alone, stays: both(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			return l.endpoints(web, nodes, edits(onlyLocal))
		}},
		{name: "policy-cluster", has: asBefore(), stays: both(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			onlyLocal(web)
			l.published(web, nodes[:1])
			return l.endpoints(web, nodes, edits(func(web *corev1.Service) {
				web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort =
					corev1.ServiceExternalTrafficPolicyCluster, 0
			}))
		}},
		{name: "endpoints-none", has: alone, stays: both(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			onlyLocal(web)
			l.published(web, nodes[:1])
			return l.endpoints(web, nodes, moves(web.Name, nil), creates(known("c")[0]))
		}},
		{name: "endpoints-move", has: []string{"443/tcp to 30443 on b", "80/tcp to 30080 on b"}, stays: both(),
			begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
				onlyLocal(web)
				l.published(web, nodes[:1])
				return l.endpoints(web, nodes, moves(web.Name, []string{"b"}))
			}},
	}
}

// endpoints is a process in a cluster where the Service has endpoints on node a.
func (l *lab) endpoints(web *corev1.Service, nodes []*corev1.Node, steps ...step) faulttest.Start {
	l.Helper()
	t := l.testCluster(web, nodes, steps...)
	t.put(endpointsOf(web, "a"))
	return t.start
}

// onlyLocal makes a Service one whose traffic goes only to nodes with endpoints.
func onlyLocal(web *corev1.Service) {
	web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32000
}
