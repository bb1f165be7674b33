package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

const (
	// web is the Service that changes all the time, and local the one whose policy is Local.
	web, local = "web", "local"
	// stays is the port that both have from beginning to end.
	stays = 80
	// changes is the port of web that gets another node port and then goes, comes the one that comes in its place.
	changes, comes = 8081, 8082
	// podPort is where the pods listen.
	podPort = 8080
)

// startPods starts a pod on each of the nodes for them.
func (c *cluster) startPods(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "echo"}
	pods := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "echo"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector:                  map[string]string{podsLabel: ""},
					TerminationGracePeriodSeconds: new(int64(1)),
					AutomountServiceAccountToken:  new(false),
					Containers: []corev1.Container{{
						Name: "echo", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: podPort}},
					}},
				},
			},
		},
	}
	if _, err := c.api.AppsV1().DaemonSets(c.shop).Create(t.Context(), pods, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// startService makes a Service of type LoadBalancer and returns the identity of its load balancer, once it serves on
// these targets.
func (c *cluster) startService(t *testing.T, name string, policy corev1.ServiceExternalTrafficPolicy,
	ports ...int32) (balancer string) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: policy,
			Selector: map[string]string{"app": "echo"},
		},
	}
	for _, port := range ports {
		service.Spec.Ports = append(service.Spec.Ports, servicePort(port))
	}
	service, err := c.api.CoreV1().Services(c.shop).Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "Service "+name+" has three pods", func(ctx context.Context) error { return c.hasPods(ctx, name, 3) })
	eventually(t, "Service "+name+" has an address", func(ctx context.Context) error {
		seen, err := c.api.CoreV1().Services(c.shop).Get(ctx, name, metav1.GetOptions{})
		if err != nil || len(seen.Status.LoadBalancer.Ingress) == 0 {
			return errors.Join(err, errors.New("it has none"))
		}
		return nil
	})
	return c.balancer(t, cloudprovider.DefaultLoadBalancerName(service)).Identity
}

func servicePort(port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: port, TargetPort: intstr.FromInt32(podPort)}
}

// hasPods wants a Service to lead to so many ready pods.
func (c *cluster) hasPods(ctx context.Context, service string, number int) error {
	list, err := c.api.DiscoveryV1().EndpointSlices(c.shop).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return err
	}
	ready := 0
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, false) {
				ready++
			}
		}
	}
	if ready != number {
		return fmt.Errorf("%d pods are ready", ready)
	}
	return nil
}

// changeService changes a Service and returns what it became.
func (c *cluster) changeService(t *testing.T, name string, change func(*corev1.Service)) *corev1.Service {
	t.Helper()
	var changed *corev1.Service
	eventually(t, "Service "+name+" is changed", func(ctx context.Context) error {
		service, err := c.api.CoreV1().Services(c.shop).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(service)
		changed, err = c.api.CoreV1().Services(c.shop).Update(ctx, service, metav1.UpdateOptions{})
		return err
	})
	return changed
}

// balancer is a load balancer as the cloud shows it.
func (c *cluster) balancer(tb testing.TB, ref string) emulator.LoadBalancerState {
	tb.Helper()
	for _, lb := range c.cloud.State().LoadBalancers {
		if lb.Name == ref || lb.Identity == ref {
			return lb
		}
	}
	tb.Fatalf("the cloud has no load balancer %s", ref)
	return emulator.LoadBalancerState{}
}

// served is where a port of a load balancer answers: a port below 1024 may be another one for an ordinary user.
func (c *cluster) served(tb testing.TB, balancer string, port int) string {
	tb.Helper()
	lb := c.balancer(tb, balancer)
	for _, l := range lb.Listeners {
		if l.Port == port && len(l.Served) > 0 {
			return l.Served[0]
		}
	}
	tb.Fatalf("port %d of load balancer %s answers nowhere: %+v", port, lb.Name, lb.Listeners)
	return ""
}

// allHealthy wants some targets of every listener to be in use.
func (c *cluster) allHealthy(t *testing.T, balancer string, names ...string) error {
	t.Helper()
	for _, l := range c.balancer(t, balancer).Listeners {
		for _, name := range names {
			i := slices.IndexFunc(l.Targets, func(target emulator.TargetState) bool {
				return target.Machine == c.machines[name]
			})
			if i < 0 || l.Targets[i].Health == string(traffic.Unhealthy) {
				return fmt.Errorf("%s is not in use for port %d: %+v", name, l.Port, l.Targets)
			}
		}
	}
	return nil
}

// await waits until the load balancer is as a change wants it.
func (c *cluster) await(t *testing.T, balancer string, is func(traffic.LoadBalancer) error) moment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	m, err := c.recorder.await(ctx, balancer, is)
	if err != nil {
		t.Fatalf("waited in vain: %v", err)
	}
	return m
}

// only wants every listener to have the nodes for targets, and no other.
func (c *cluster) only(names ...string) func(traffic.LoadBalancer) error {
	return func(lb traffic.LoadBalancer) error {
		for _, l := range lb.Listeners {
			if got := c.targetsOf(l); !slices.Equal(got, names) {
				return fmt.Errorf("port %d has the targets %v, want %v", l.Port, got, names)
			}
		}
		return nil
	}
}

// targetsOf are the names of a listener's targets, sorted.
func (c *cluster) targetsOf(l traffic.Listener) []string {
	var names []string
	for _, target := range l.Group.Targets {
		names = append(names, c.names[target.Address.Addr()])
	}
	slices.Sort(names)
	return names
}

// endServices deletes all Services and wants their load balancers to go.
func (c *cluster) endServices(t *testing.T) {
	t.Helper()
	for _, name := range []string{web, local} {
		if err := c.api.CoreV1().Services(c.shop).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "nothing is left in the cloud", func(context.Context) error {
		left := map[string]bool{}
		state := c.cloud.State()
		for _, lb := range state.LoadBalancers {
			left["load balancer "+lb.Name] = true
		}
		for _, group := range state.TargetGroups {
			left["target group "+group.Name] = true
		}
		if len(left) > 0 {
			return errors.New(strings.Join(slices.Sorted(maps.Keys(left)), ", "))
		}
		return nil
	})
}
