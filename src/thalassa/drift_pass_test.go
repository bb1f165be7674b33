package thalassa

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestNewServiceDoesNotWaitForAnotherList: the list of target groups that a check for drift reads takes long.
func TestNewServiceDoesNotWaitForAnotherList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good, reading := l.network, atomic.Bool{}
		l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && request.URL.Path == "/v1/loadbalancer-target-groups" {
				reading.Store(true)
				<-time.After(20 * time.Second)
				reading.Store(false)
			}
			return good.RoundTrip(request)
		})
		l.restart()
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		cluster := l.watching(web)
		<-time.After(time.Minute) // the first check has ended
		for !reading.Load() {
			<-time.After(time.Second)
		}
		services := cluster.CoreV1().Services("shop")
		if _, err := services.Create(t.Context(), service("new", 80), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		now, err := services.Get(t.Context(), "new", metav1.GetOptions{})
		if err != nil || len(now.Status.LoadBalancer.Ingress) == 0 || !reading.Load() {
			t.Errorf("status %v, error %v, the list is being read: %t; want an address before the list",
				now.Status.LoadBalancer, err, reading.Load())
		}
		<-time.After(time.Minute) // the list ends
	})
}

// TestServingLoadBalancerFails: nothing differs from what the Service should have, but it does not serve any more.
func TestServingLoadBalancerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		l.watching(web)
		made := len(l.writes())
		if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, "failed"); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * driftPeriod)
		if event := l.nextEvent(); !strings.HasPrefix(event, "Warning LoadBalancerFailed") {
			t.Errorf("event = %q, want one with %s", event, "LoadBalancerFailed")
		}
		if err := l.emulator.SetLoadBalancerStatus(l.balancer().Identity, ""); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		if event := l.nextEvent(); event != "" {
			t.Errorf("it serves again; event %q", event)
		}
		if writes := l.writes(); len(writes) != made {
			t.Errorf("writes %v, want those of the creation only", writes)
		}
	})
}
