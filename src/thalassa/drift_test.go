package thalassa

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/service/helpers"

	servicecontroller "github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// driftPeriod is the period of these tests.
const driftPeriod = 5 * time.Minute

// watching starts the service controller of a cluster that holds the Services and all nodes, until the test ends. Where
// the Services are as they should be already, that makes no event.
func (l *lab) watching(services ...*corev1.Service) *fake.Clientset {
	l.Helper()
	cluster := workerpooltest.NewClient()
	for _, service := range services {
		service = service.DeepCopy()
		service.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		if _, err := cluster.CoreV1().Services(service.Namespace).Create(l.Context(), service,
			metav1.CreateOptions{}); err != nil {
			l.Fatal(err)
		}
	}
	for _, node := range l.allNodes {
		if _, err := cluster.CoreV1().Nodes().Create(l.Context(), node, metav1.CreateOptions{}); err != nil {
			l.Fatal(err)
		}
	}
	l.control(cluster)
	return cluster
}

// control starts the service controller of a cluster, until the test ends.
func (l *lab) control(cluster kubernetes.Interface) {
	l.Helper()
	workerpooltest.New(l).Begin(cluster, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		controller, err := servicecontroller.New(servicecontroller.Options{
			Provider: l.cloud.balancers, Behaviour: l.config.LoadBalancer.Behaviour(), Client: cluster,
			Recorder: l.events,
			Services: factory.Core().V1().Services(), Nodes: factory.Core().V1().Nodes(),
			EndpointSlices: factory.Discovery().V1().EndpointSlices(),
		})
		return func(ctx context.Context) { controller.Run(ctx, workers) }, err
	})
	<-time.After(time.Second) // what is to be done at the start is done
}

// workers of a service controller.
const workers = 3

// TestDriftIsRepaired: whatever is changed by hand is back within the period, and the Service's owner hears of it.
func TestDriftIsRepaired(t *testing.T) {
	tests := map[string]struct {
		change   func(*testing.T, *iaas.Client, iaas.VpcLoadbalancer) error
		reported string
	}{
		"a listener is deleted": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			t.Helper()
			return api.DeleteListener(t.Context(), lb.Identity, lb.LoadbalancerListeners[0].Identity)
		}, "create listener"},
		"the machines are detached": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			t.Helper()
			group := lb.LoadbalancerListeners[0].TargetGroup.Identity
			return api.SetTargetGroupServerAttachments(t.Context(),
				iaas.TargetGroupAttachmentsBatch{TargetGroupID: group, Attachments: []iaas.AttachTarget{}})
		}, "0 machines become 2"},
		"a target group gets another port": {func(t *testing.T, api *iaas.Client, lb iaas.VpcLoadbalancer) error {
			t.Helper()
			group := lb.LoadbalancerListeners[0].TargetGroup
			_, err := api.UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: group.Identity,
				UpdateTargetGroup: iaas.UpdateTargetGroup{
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
					t.Errorf("after a period the cloud has\n%s\nwant\n%s", strings.Join(after, "\n"),
						strings.Join(before, "\n"))
				}
				if event := l.nextEvent(); !strings.HasPrefix(event, "Warning LoadBalancerDrifted") ||
					!strings.Contains(event, tt.reported) {
					t.Errorf("event = %q, want one with %q", event, tt.reported)
				}
				if event := l.nextEvent(); event != "" {
					t.Errorf("another event: %q", event)
				}
			})
		})
	}
}

// picture is what the cloud serves, one line for each listener and each target group.
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
		line := group.Name
		for _, attachment := range group.LoadbalancerTargetGroupAttachments {
			line += " " + attachment.VirtualMachineInstance.Name
		}
		lines = append(lines, line)
	}
	return lines
}

// removeByHand deletes all load balancers and target groups.
func (l *lab) removeByHand() {
	l.Helper()
	balancers, err := l.api().ListLoadbalancers(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, balancer := range balancers {
		if err := l.api().DeleteLoadbalancer(l.Context(), balancer.Identity); err != nil {
			l.Fatal(err)
		}
	}
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, group := range groups {
		if err := l.api().DeleteTargetGroup(l.Context(),
			iaas.DeleteTargetGroupRequest{Identity: group.Identity}); err != nil {
			l.Fatal(err)
		}
	}
}

// TestDeletionIsFinishedWhenListsSaySo: the cloud has accepted it, which is not the same.
func TestDeletionIsFinishedWhenListsSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		rule := fault.Rule{Operation: "DELETE /v1/loadbalancer-target-groups/{id}",
			Effect: fault.Effect{Kind: fault.DeleteLag, Delay: 5 * time.Minute}}
		if _, err := l.emulator.Inject(rule); err != nil {
			t.Fatal(err)
		}
		l.remove(web)
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("the deletion is finished, and the cloud has %v", left)
		}
	})
}
