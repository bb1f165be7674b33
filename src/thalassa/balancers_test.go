package thalassa

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// slowCloud takes as long as a real one.
var slowCloud = emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 30 * time.Second,
	LoadbalancerDelete: 10 * time.Second}}

func TestServiceGetsAnAddressAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, slowCloud)
		nodes, web := l.nodes("a", "b"), service("web", 80)

		_, err := l.ensure(web, nodes)
		if cloud.ReasonOf(err).Until != firstLook {
			t.Fatalf("first sync: %v; want to be called again in %s", err, firstLook)
		}
		if want := `load balancer a0a1b2c3dweb is not ready yet, its status is "creating"`; err.Error() != want {
			t.Errorf("first sync says %q, want %q", err, want)
		}

		status := l.settle(web, nodes)
		if len(status.Ingress) != 1 || status.Ingress[0].IP == "" ||
			*status.Ingress[0].IPMode != corev1.LoadBalancerIPModeProxy {
			t.Errorf("status = %+v, want one address in mode Proxy", status)
		}
		balancer := l.balancer()
		wantLabels := iaas.Labels{
			"k8s.thalassa.cloud/kubernetes-cluster": "k8s-test", "k8s.thalassa.cloud/cloud-provider-managed": "true",
			"k8s.thalassa.cloud/kubernetes-service-name":      "web",
			"k8s.thalassa.cloud/kubernetes-service-namespace": "shop",
			"k8s.thalassa.cloud/kubernetes-service-uid":       "0a1b2c3d-web",
		}
		if diff := cmp.Diff(wantLabels, balancer.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if got := l.machines("a0a1b2c3dweb-p80"); len(got) != 2 {
			t.Errorf("machines behind the load balancer: %v, want both", got)
		}

		l.remove(web)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left in the cloud: %v", left)
		}
	})
}

// machines are the identities of the machines in the target group of that name.
func (l *lab) machines(group string) []string {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, g := range groups {
		if g.Name != group {
			continue
		}
		machines := []string{}
		for _, attachment := range g.LoadbalancerTargetGroupAttachments {
			machines = append(machines, attachment.VirtualMachineInstance.Identity)
		}
		slices.Sort(machines)
		return machines
	}
	l.Fatalf("no target group %s", group)
	return nil
}

func TestWritesOfAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes, web := l.nodes("a", "b"), service("web", 80, 443)
		l.settle(web, nodes)
		const (
			createGroup, attach = "POST /v1/loadbalancer-target-groups",
				"POST /v1/loadbalancer-target-groups/{id}/attachments"
			updateGroup, deleteGroup = "PUT /v1/loadbalancer-target-groups/{id}",
				"DELETE /v1/loadbalancer-target-groups/{id}"
			createListener           = "POST /v1/loadbalancers/{id}/listeners"
			updateListener, dropLine = "PUT /v1/loadbalancers/{id}/listeners/{listener}",
				"DELETE /v1/loadbalancers/{id}/listeners/{listener}"
			createBalancer, deleteOne = "POST /v1/loadbalancers", "DELETE /v1/loadbalancers/{id}"
		)
		expect := func(what string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, l.writes()); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", what, diff)
			}
			l.emulator.ResetCounters()
		}
		expect("create with 2 ports: 2P+1", createGroup, attach, createGroup, attach, createBalancer)

		l.settle(web, nodes)
		if calls := l.calls(); calls != 0 {
			t.Errorf("sync of an unchanged Service made %d calls, want none", calls)
		}
		expect("unchanged")

		nodes = append(nodes, l.nodes("c", "d", "e")...)
		if err := l.library.UpdateLoadBalancer(t.Context(), "", web, nodes); err != nil {
			t.Fatal(err)
		}
		expect("three nodes join: one write per target group", attach, attach)

		web.Spec.Ports[0].NodePort = 31000
		l.settle(web, nodes)
		expect("node port changes", updateGroup)

		web.Spec.Ports[1].Port = 8443
		l.settle(web, nodes)
		expect("port changes: the new one before the old one goes", createGroup, attach, createListener, dropLine,
			deleteGroup)

		web.Annotations[label.AnnotationPrefix+"idle-connection-timeout"] = "60"
		web.Annotations[label.AnnotationPrefix+"loadbalancing-policy"] = "MAGLEV"
		l.settle(web, nodes)
		expect("annotations", updateGroup, updateGroup, updateListener, updateListener)

		delete(web.Annotations, label.AnnotationPrefix+"idle-connection-timeout")
		l.settle(web, nodes)
		expect("annotation removed", updateListener, updateListener)

		l.remove(web)
		expect("delete: P+1", deleteOne, deleteGroup, deleteGroup)
	})
}

func TestOverHTTP(t *testing.T) {
	t.Parallel()
	l := newLab(t, emulator.Config{}).overHTTP()
	nodes, web := l.nodes("a", "b"), service("web", 80, 443)
	if status := l.settle(web, nodes); len(status.Ingress) != 1 {
		t.Errorf("status = %+v, want an address", status)
	}
	if got := l.machines("a0a1b2c3dweb-p443"); len(got) != 2 {
		t.Errorf("machines behind the load balancer: %v, want both", got)
	}
	l.config.LoadBalancer.CreationPollInterval = 1
	l.restart()
	l.remove(web)
	if left := l.leftovers(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}

// group is the only target group in the cloud.
func (l *lab) group() iaas.VpcLoadbalancerTargetGroup {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil || len(groups) != 1 {
		l.Fatalf("%d target groups, error %v; want one", len(groups), err)
	}
	return groups[0]
}

func TestInvalidAnnotationBlocksOnlyItself(t *testing.T) {
	l := newLab(t, emulator.Config{})
	nodes, web := l.nodes("a"), service("web", 80)
	web.Annotations[label.AnnotationPrefix+"loadbalancing-policy"] = "RANDOM"
	l.settle(web, nodes)
	web.Annotations[label.AnnotationPrefix+"loadbalancing-policy"] = "random"
	web.Annotations[label.AnnotationPrefix+"enable-proxy-protocol"] = "true"
	web.Annotations[label.AnnotationPrefix+"max-conections"] = "5"
	nodes = append(nodes, l.nodes("b")...)
	l.settle(web, nodes)
	group := l.group()
	if *group.LoadbalancingPolicy != "RANDOM" || !*group.EnableProxyProtocol || len(l.machines(group.Name)) != 2 {
		t.Errorf("policy %s, PROXY protocol %v, %v; want the policy as it was and the rest applied",
			*group.LoadbalancingPolicy, *group.EnableProxyProtocol, l.machines(group.Name))
	}
	for _, want := range []string{
		`Warning InvalidAnnotation annotation loadbalancer.k8s.thalassa.cloud/loadbalancing-policy: "random" is not one of ROUND_ROBIN, RANDOM, MAGLEV`,
		`Warning InvalidAnnotation annotation loadbalancer.k8s.thalassa.cloud/max-conections: is not known and has no effect; did you mean loadbalancer.k8s.thalassa.cloud/max-connections?` +
			` Until it is corrected, the setting that was probably meant does not change in the cloud; if it is about allowed sources, no further port is opened.`,
	} {
		if got := l.nextEvent(); got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
}

// TestPauseTheCloudAskedFor reaches the service controller, which then comes back neither earlier nor much later.
func TestPauseTheCloudAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.network = busy{}
		l.restart()
		_, err := l.ensure(service("web", 80), nil)
		if cloud.ReasonOf(err).Until != 90*time.Second ||
			!strings.Contains(err.Error(), "throttled") {
			t.Errorf("error = %v, want one to come back after 90 s", err)
		}
	})
}

// busy is a cloud that wants to be left alone.
type busy struct{}

func (busy) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"90"}},
		Body: http.NoBody}, nil
}

// TestTargetsAreNotEmptiedByIgnorance: Nodes of which none has a machine are no reason to empty a target group.
func TestTargetsAreNotEmptiedByIgnorance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a", "b"))
		for _, id := range []string{"", providerid.Of("vm-gone")} {
			l.settle(web, []*corev1.Node{named("x", id)})
			if got := l.machines(l.group().Name); len(got) != 2 {
				t.Errorf("with a Node with the provider ID %q: machines %v, want both to stay", id, got)
			}
		}
		l.settle(web, nil)
		if got := l.machines(l.group().Name); len(got) != 0 {
			t.Errorf("machines of a cluster without nodes: %v, want none", got)
		}
	})
}
