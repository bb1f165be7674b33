package service

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
)

// addressedCloud is a fakeCloud that returns other addresses.
type addressedCloud struct {
	*fakeCloud
	ingress []corev1.LoadBalancerIngress
}

// Diff implements cloud.LoadBalancers.
func (c *addressedCloud) Diff(ctx context.Context, service *corev1.Service,
	targets cloud.Targets, settled bool) (cloud.Comparison, error) {
	found, err := c.fakeCloud.Diff(ctx, service, targets, settled)
	if len(found.Balancer.Status.Ingress) > 0 {
		found.Balancer.Status.Ingress = c.ingress
	}
	return found, err
}

// TestInvalidAddressHidesNoValidOne: what the API server would refuse is not published, and reported. The rest is
// published as the API server expects it.
func TestInvalidAddressHidesNoValidOne(t *testing.T) {
	proxy, unknown := ptr.To(corev1.LoadBalancerIPModeProxy), ptr.To(corev1.LoadBalancerIPMode("proxy"))
	both := func(ip, hostname string) []corev1.LoadBalancerIngress {
		return []corev1.LoadBalancerIngress{{IP: ip, Hostname: hostname, IPMode: proxy}}
	}
	one, named := []string{"203.0.113.7"}, []string{"lb.example.com"}
	for name, tt := range map[string]struct {
		cloud     []corev1.LoadBalancerIngress
		published []string
		invalid   string // in the event; "" if there is none
	}{
		"valid":              {both("203.0.113.7", "lb.example.com"), []string{"203.0.113.7 lb.example.com"}, ""},
		"final dot":          {both("203.0.113.7", "lb.example.com."), []string{"203.0.113.7 lb.example.com"}, ""},
		"upper case":         {both("", "LB.Example.com"), named, ""},
		"IPv6 in full":       {both("2001:DB8:0:0::7", ""), []string{"2001:db8::7"}, ""},
		"IPv4 as IPv6":       {both("::ffff:203.0.113.7", ""), one, ""},
		"underscore":         {both("203.0.113.7", "lb_1.example.com"), one, `hostname "lb_1.`},
		"wildcard":           {both("203.0.113.7", "*.example.com"), one, `hostname "*.example.com"`},
		"address as name":    {both("203.0.113.7", "203.0.113.7"), one, `hostname "203.0.113.7"`},
		"leading zeros":      {both("010.0.0.1", "lb.example.com"), named, `IP address "010.0.0.1"`},
		"zone":               {both("fe80::1%eth0", "lb.example.com"), named, `IP address "fe80::1%`},
		"prefix":             {both("203.0.113.7/32", "lb.example.com"), named, `"203.0.113.7/32"`},
		"much too long":      {both("203.0.113.7", strings.Repeat("a", 9000)), one, `hostname "aaaa`},
		"one of two":         {append(both("203.0.113.7", ""), both("x", "")...), one, `address "x"`},
		"mode without an IP": {both("", "lb.example.com"), named, ""},
		"unknown mode": {[]corev1.LoadBalancerIngress{{IP: "203.0.113.7", IPMode: unknown}}, one,
			`IP mode "proxy"`},
		"none valid": {both("x", "lb_1"), []string{}, `IP address "x", hostname "lb_1"`},
		"empty":      {append(both("", ""), both("203.0.113.7", "")...), one, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.startWith(&addressedCloud{r.cloud, tt.cloud}, 1)
				r.addService("web")
				r.waitForSync()
				wantList(r, "addresses", addressesOf(r.service("web").Status.LoadBalancer), tt.published...)
				events := r.warnings()
				if tt.invalid == "" {
					wantList(r, "events", events)
					return
				}
				if len(events) != 1 || !strings.HasPrefix(events[0], "Warning LoadBalancerAddressInvalid ") ||
					!strings.Contains(events[0], tt.invalid) || len(events[0]) > maxMessage {
					r.Errorf("events %q, want one with %s", events, tt.invalid)
				}
				want(r, "condition", r.condition("web", string(cloud.Settings)), "False LoadBalancerAddressInvalid")
			})
		})
	}
}

// TestPublishedAddressesOutlastInvalidOnes: clients use what is published until the cloud returns something better.
func TestPublishedAddressesOutlastInvalidOnes(t *testing.T) {
	inRig(t, func(r *rig) {
		provider := &addressedCloud{r.cloud, []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}}
		r.startWith(provider, 1)
		r.addService("web")
		r.waitForSync()
		r.events()
		r.cloud.set(func(*fakeCloud) { provider.ingress = []corev1.LoadBalancerIngress{{Hostname: "lb_1"}} })
		workerpooltest.Pass(driftPeriod + time.Minute)
		wantList(r, "addresses", addressesOf(r.service("web").Status.LoadBalancer), "203.0.113.7")
		if events := r.events(); !slices.Contains(events, "Warning LoadBalancerAddressInvalid") {
			r.Errorf("events %q, want one about the hostname", events)
		}
		r.cloud.set(func(*fakeCloud) { provider.ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.8"}} })
		workerpooltest.Pass(driftPeriod + time.Minute)
		wantList(r, "addresses", addressesOf(r.service("web").Status.LoadBalancer), "203.0.113.8")
	})
}
