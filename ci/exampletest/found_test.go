package exampletest

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// Labels by which it is known whose something in the cloud is.
const (
	labelManaged = "k8s.thalassa.cloud/cloud-provider-managed"
	labelUID     = "k8s.thalassa.cloud/kubernetes-service-uid"
)

// balancer is what the cloud shows of a load balancer.
type balancer struct {
	Identity  string            `json:"identity"`
	Labels    map[string]string `json:"labels"`
	Listeners []struct {
		Port    int      `json:"port"`
		Sources []string `json:"allowedSources"`
	} `json:"loadbalancerListeners"`
}

// group is what it shows of a target group.
type group struct {
	Labels      map[string]string `json:"labels"`
	Port        int32             `json:"targetPort"`
	HealthCheck *check            `json:"healthCheck"`
	Attachments []struct{}        `json:"loadbalancerTargetGroupAttachments"`
}

// check is what it shows of a health check.
type check struct {
	Protocol string `json:"protocol"`
	Port     int32  `json:"port"`
}

func (c *cloud) balancers(t *testing.T) (all []balancer) {
	t.Helper()
	c.call(t, http.MethodGet, "/v1/loadbalancers", "", &all)
	return all
}

func (c *cloud) groups(t *testing.T) (all []group) {
	t.Helper()
	c.call(t, http.MethodGet, "/v1/loadbalancer-target-groups", "", &all)
	return all
}

// sources wants the only load balancer to have these ports, each open to these networks and no others.
func sources(want map[int][]string) assertion {
	return func(t *testing.T, c *cloud, _ served) string {
		t.Helper()
		all := c.balancers(t)
		if len(all) != 1 || len(all[0].Listeners) != len(want) {
			return fmt.Sprintf("load balancers %+v, want one with %d ports", all, len(want))
		}
		for _, listener := range all[0].Listeners {
			if got := slices.Sorted(slices.Values(listener.Sources)); !slices.Equal(got, want[listener.Port]) {
				return fmt.Sprintf("port %d accepts %v, want %v", listener.Port, got, want[listener.Port])
			}
		}
		return ""
	}
}

// How a port of a Service is to be checked; nil is not at all.
func noCheck(*corev1.Service, corev1.ServicePort) *check { return nil }

func tcpCheck(_ *corev1.Service, port corev1.ServicePort) *check { return &check{"tcp", port.NodePort} }

func localCheck(service *corev1.Service, _ corev1.ServicePort) *check {
	return &check{"http", service.Spec.HealthCheckNodePort}
}

// checks wants the Service's ports to be checked so, one after the other.
func checks(want ...func(*corev1.Service, corev1.ServicePort) *check) assertion {
	return func(t *testing.T, c *cloud, s served) string {
		t.Helper()
		groups := c.groups(t)
		if len(groups) != len(want) {
			return fmt.Sprintf("target groups %+v, want %d", groups, len(want))
		}
		for i, port := range s.service.Spec.Ports {
			wanted := want[i](s.service, port)
			at := slices.IndexFunc(groups, func(g group) bool { return g.Port == port.NodePort })
			switch {
			case at < 0:
				return fmt.Sprintf("target groups %+v, want one for node port %d", groups, port.NodePort)
			case (groups[at].HealthCheck == nil) != (wanted == nil), wanted != nil &&
				*groups[at].HealthCheck != *wanted:
				return fmt.Sprintf("port %s has the health check %+v, want %+v", port.Name, groups[at].HealthCheck,
					wanted)
			}
		}
		return ""
	}
}

// adopted wants the load balancer that was there to be the Service's, with its port, and no other one to be made.
func adopted(t *testing.T, c *cloud, s served) string {
	t.Helper()
	all, named := c.balancers(t), adoptedBy(s.service)
	if len(all) != 1 || all[0].Identity != named || all[0].Labels[labelUID] != string(s.service.UID) ||
		len(all[0].Listeners) != 1 {
		return fmt.Sprintf("load balancers %+v, want %s alone, with the labels of the Service and its port", all, named)
	}
	return ""
}

// kept gives the load balancer up as the guide says, and wants it to be left with all that is behind it, to be
// unmanaged, and the Service's node ports to be the same: servers behind them go on.
func kept(t *testing.T, c *cloud, s served) string {
	t.Helper()
	before := c.balancers(t)
	given := s.cluster.patch(t, s.service.Name, patchOf(t, "keep-and-adopt.md"))
	if given.Spec.Type != corev1.ServiceTypeNodePort ||
		given.Spec.Ports[0].NodePort != s.service.Spec.Ports[0].NodePort {
		return fmt.Sprintf("the Service becomes %+v, want the type NodePort with the node port that it had: %+v",
			given.Spec, s.service.Spec.Ports)
	}
	c.remove(t, given)
	after, groups := c.balancers(t), c.groups(t)
	if len(before) != 1 || len(after) != 1 || after[0].Identity != before[0].Identity || len(after[0].Listeners) != 1 {
		return fmt.Sprintf("load balancers %+v, want the one that was there before, with its port: %+v", after, before)
	}
	if len(groups) != 1 || len(groups[0].Attachments) != len(c.nodes) ||
		groups[0].Port != s.service.Spec.Ports[0].NodePort {
		return fmt.Sprintf("target groups %+v, want one with %d machines", groups, len(c.nodes))
	}
	for _, labels := range []map[string]string{after[0].Labels, groups[0].Labels} {
		if labels[labelUID] != "" || labels[labelManaged] != "false" {
			return fmt.Sprintf("what is left has the labels %v, want it to be unmanaged", labels)
		}
	}
	return ""
}

// patchOf is what a guide has kubectl patch a Service with.
func patchOf(t *testing.T, guide string) []byte {
	t.Helper()
	page, err := os.ReadFile(checkout.Path(t, "docs/guides/"+guide))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`kubectl patch service keep --patch '([^']+)'`).FindSubmatch(page)
	if found == nil {
		t.Fatalf("%s does not say how the Service is patched", guide)
	}
	return found[1]
}
