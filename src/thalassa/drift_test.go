package thalassa

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// driftPeriod is the period of these tests.
const driftPeriod = 5 * time.Minute

// watching starts the drift passes of a lab whose cluster holds the Services, until the test ends.
func (l *lab) watching(services ...*corev1.Service) *fake.Clientset {
	l.Helper()
	cluster := fake.NewClientset()
	for _, service := range services {
		if _, err := cluster.CoreV1().Services(service.Namespace).Create(l.Context(), service, metav1.CreateOptions{}); err != nil {
			l.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(l.Context())
	l.Cleanup(cancel)
	go drift{balancers: l.cloud.balancers, period: driftPeriod, services: cluster.CoreV1()}.run(ctx)
	return cluster
}

// TestDriftIsRepaired: whatever is changed by hand is back within the period, and the Service's owner hears of it.
func TestDriftIsRepaired(t *testing.T) {
	tests := map[string]struct {
		change func(*testing.T, *iaas.Client, iaas.VpcLoadbalancer) error
		told   string
	}{
		"a listener is deleted": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			return api.DeleteListener(t.Context(), lb.Identity, lb.LoadbalancerListeners[0].Identity)
		}, "create listener"},
		"the machines are detached": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			group := lb.LoadbalancerListeners[0].TargetGroup.Identity
			return api.SetTargetGroupServerAttachments(t.Context(), iaas.TargetGroupAttachmentsBatch{TargetGroupID: group, Attachments: []iaas.AttachTarget{}})
		}, "0 machines become 2"},
		"a target group gets another port": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			group := lb.LoadbalancerListeners[0].TargetGroup
			_, err := api.UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: group.Identity, UpdateTargetGroup: iaas.UpdateTargetGroup{
				Name: group.Name, Labels: group.Labels, TargetPort: 1, Protocol: group.Protocol}})
			return err
		}, "target port 1 becomes 30080"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				web := service("web", 80)
				web.Status.LoadBalancer = *l.settle(web, l.nodes("a", "b"))
				l.watching(web)
				before := l.picture()
				balancers, err := l.api().ListLoadbalancers(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := tt.change(t, l.api(), balancers[0]); err != nil {
					t.Fatal(err)
				}
				<-time.After(driftPeriod + time.Minute)
				if after := l.picture(); !slices.Equal(before, after) {
					t.Errorf("after a period the cloud has\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
				}
				if event := l.nextEvent(); !strings.HasPrefix(event, "Warning "+reasonDrifted) || !strings.Contains(event, tt.told) {
					t.Errorf("event = %q, want one with %q", event, tt.told)
				}
				if event := l.nextEvent(); event != "" {
					t.Errorf("another event: %q", event)
				}
			})
		})
	}
}

// picture is what the cloud serves, one line a listener.
func (l *lab) picture() []string {
	var lines []string
	for _, balancer := range l.emulator.State().LoadBalancers {
		for _, listener := range balancer.Listeners {
			line := balancer.Name + " " + listener.Protocol
			for _, target := range listener.Targets {
				line += " " + target.Address
			}
			lines = append(lines, line)
		}
	}
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, group := range groups {
		lines = append(lines, group.Name)
	}
	return lines
}

// TestDeletedLoadBalancerIsMadeAnew: its new address is published, because the service controller would not notice.
func TestDeletedLoadBalancerIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 20 * time.Second, LoadbalancerDelete: 30 * time.Second}})
		web := service("web", 80)
		web.Status.LoadBalancer = *l.settle(web, l.nodes("a"))
		cluster := l.watching(web)
		balancers, err := l.api().ListLoadbalancers(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.api().DeleteLoadbalancer(t.Context(), balancers[0].Identity); err != nil {
			t.Fatal(err)
		}
		<-time.After(driftPeriod + time.Minute)
		current, err := cluster.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		state := l.emulator.State().LoadBalancers
		if len(state) != 1 || len(state[0].Addresses) != 1 || len(current.Status.LoadBalancer.Ingress) != 1 ||
			current.Status.LoadBalancer.Ingress[0].IP != state[0].Addresses[0] {
			t.Errorf("the Service shows %v, the cloud has %v", current.Status.LoadBalancer, state)
		}
		for _, want := range []string{"Warning LoadBalancerDrifted", "Warning LoadBalancerRepaired The load balancer was made anew"} {
			if event := l.nextEvent(); !strings.HasPrefix(event, want) {
				t.Errorf("event = %q, want %q", event, want)
			}
		}
	})
}

// TestNoDriftCostsTwoListsAPeriod whatever the number of Services, and no write.
func TestNoDriftCostsTwoListsAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes := l.nodes("a", "b")
		for _, name := range []string{"one", "two", "three", "four"} {
			l.settle(service(name, 80, 443), nodes)
		}
		gone := service("gone", 80)
		l.settle(gone, nodes)
		l.watching()
		l.remove(gone)
		l.emulator.ResetCounters()
		const hour = 12
		<-time.After(hour*driftPeriod + time.Second)
		counters := l.emulator.Counters()
		for _, operation := range []string{"GET /v1/loadbalancers", "GET /v1/loadbalancer-target-groups"} {
			if got := counters[operation]; got != hour {
				t.Errorf("%s: %d times in an hour, want %d", operation, got, hour)
			}
		}
		if writes := l.writes(); len(writes) != 0 {
			t.Errorf("writes = %v", writes)
		}
		if total := l.calls(); total > 4*hour+2 {
			t.Errorf("%d calls in an hour: %v", total, counters)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("event %q", event)
		}
	})
}

// TestOutageIsNoDrift: when nothing is known, nothing is changed or told.
func TestOutageIsNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		line := &cutLine{next: l.network}
		l.network = line
		l.restart()
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		l.watching(web)
		before := l.picture()
		line.cut.Store(true)
		<-time.After(2*driftPeriod + time.Minute)
		line.cut.Store(false)
		<-time.After(driftPeriod)
		if after := l.picture(); !slices.Equal(before, after) {
			t.Errorf("after an outage the cloud has %v, want %v", after, before)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("event %q", event)
		}
	})
}

// cutLine is a network that can be cut.
type cutLine struct {
	next http.RoundTripper
	cut  atomic.Bool
}

func (c *cutLine) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("the line is cut")
	}
	return c.next.RoundTrip(request)
}
