package balancer

import "github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"

// livesOfTakenOvers are about objects that this program did not create.
func livesOfTakenOvers() []life {
	return []life{
		{name: "address in the spec of one that was taken over", keeps: true, steps: []step{
			{hand: forget, spec: address("203.0.113.2"), want: `
ImmutableSetting: spec.loadBalancerIP is not applied to a load balancer that this program did not …`},
		}},
		{name: "sources of one that was taken over", keeps: true, steps: []step{
			{hand: forget, spec: ranges("10.0.0.0/8"), want: `
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: "acl-allowed-sources=192.0.2.1", spec: ranges("10.0.0.0/8"), want: `
update listener web-p80: allowed sources 10.0.0.0/8 becomes 10.0.0.0/8, 192.0.2.1/32
update listener web-p443: allowed sources 10.0.0.0/8 becomes 10.0.0.0/8, 192.0.2.1/32`},
		}},
		{name: "policy Local of one that was taken over", keeps: true, steps: []step{
			{spec: policyLocal, want: `
update target group web-p80: health check tcp :30080/healthz becomes http :32000/healthz
update target group web-p443: health check tcp :30443/healthz becomes http :32000/healthz`},
			{spec: policyLocal, hand: forget},
			{want: `
update target group web-p80: health check http :32000/healthz becomes none
update target group web-p443: health check http :32000/healthz becomes none`},
		}},
		{name: "the interval of a check made by hand", keeps: true, steps: []step{
			{hand: checkedByHand},
			{ask: "health-check-interval=60", want: `
update target group web-p80: health check http :8080/x every 30s, timeout 20s, 2 good, 3 bad becomes http :8080/x
  every 60s, timeout 20s, 2 good, 3 bad
update target group web-p443: health check http :8080/x every 30s, timeout 20s, 2 good, 3 bad becomes http
  :8080/x every 60s, timeout 20s, 2 good, 3 bad`},
			{want: `
update target group web-p80: health check http :8080/x every 60s, timeout 20s, 2 good, 3 bad becomes http :8080/x
  every 5s, timeout 5s, 2 good, 3 bad, the health-check-interval is no longer managed by this Service
update target group web-p443: health check http :8080/x every 60s, timeout 20s, 2 good, 3 bad becomes http
  :8080/x every 5s, timeout 5s, 2 good, 3 bad, the health-check-interval is no longer managed by this Service`},
		}},
		{name: "session affinity of one that was taken over", keeps: true, steps: []step{
			{hand: forget, spec: byClient(10800), want: `
UnsupportedSetting: spec.sessionAffinity is ClientIP, and this load balancer was not created by this …`},
			{ask: "loadbalancing-policy=MAGLEV", spec: byClient(10800), want: `
update target group web-p80: policy ROUND_ROBIN becomes MAGLEV
update target group web-p443: policy ROUND_ROBIN becomes MAGLEV`},
		}},
		{name: "a security group that was taken over", keeps: true, steps: []step{
			{ask: ownGroup, want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)
update listener web-p443: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: "create-security-group=true", hand: forget, want: `
AllowedSourcesKept: Port 80/TCP accepts connections from 10.0.0.0/8 only. This Service does not …
AllowedSourcesKept: Port 443/TCP accepts connections from 10.0.0.0/8 only. This Service does not …`},
		}},
	}
}

// checkedByHand is a load balancer of the existing CCM with health checks that somebody set in the cloud.
func checkedByHand(w *world) {
	forget(w)
	for i := range w.groups {
		w.groups[i].HealthCheck = &resource.HealthCheck{Protocol: "http", Port: 8080, Path: "/x", PeriodSeconds: 30,
			TimeoutSeconds: 20, HealthyThreshold: 2, UnhealthyThreshold: 3}
	}
}

// livesOfTakenOverChecks are about settings of objects that this program did not create: each value stays until the
// Service asks for another, and becomes the default when it does not any more.
func livesOfTakenOverChecks() []life {
	const everything = "health-check-enabled=true health-check-port=8081 health-check-protocol=https " +
		"health-check-path=/y health-check-interval=30 health-check-timeout=20 health-check-up-threshold=4 " +
		"health-check-down-threshold=5"
	return []life{
		{name: "no check of one that was taken over", keeps: true, steps: []step{
			{hand: unchecked},
			{ask: "health-check-enabled=true"},
			{ask: "health-check-port=8081"},
			{ask: "health-check-protocol=http health-check-path=/x"},
			{ask: "health-check-enabled=true health-check-port=8081", want: `
update target group web-p80: health check none becomes http :8081/healthz
update target group web-p443: health check none becomes http :8081/healthz`},
			{ask: everything, want: `
update target group web-p80: health check http :8081/healthz becomes https :8081/y every 30s, timeout 20s, 4
  good, 5 bad
update target group web-p443: health check http :8081/healthz becomes https :8081/y every 30s, timeout 20s, 4
  good, 5 bad`},
			{ask: "health-check-enabled=perhaps", want: `
InvalidAnnotation: annotation health-check-enabled: "perhaps" is not true or false`},
			{ask: "health-check-enabled=false", want: `
update target group web-p80: health check https :8081/y every 30s, timeout 20s, 4 good, 5 bad becomes none
update target group web-p443: health check https :8081/y every 30s, timeout 20s, 4 good, 5 bad becomes none`},
		}},
		{name: "a check made by hand", keeps: true, steps: []step{
			{ask: "health-check-enabled=true", hand: checkedByHand},
			{ask: "health-check-enabled=perhaps", want: `
InvalidAnnotation: annotation health-check-enabled: "perhaps" is not true or false`},
			{ask: "health-check-enabled=true health-check-port=8081", want: `
update target group web-p80: health check http :8080/x every 30s, timeout 20s, 2 good, 3 bad becomes http
  :8081/x every 30s, timeout 20s, 2 good, 3 bad
update target group web-p443: health check http :8080/x every 30s, timeout 20s, 2 good, 3 bad becomes http
  :8081/x every 30s, timeout 20s, 2 good, 3 bad`},
			{ask: "health-check-port=8081 health-check-interval=often health-check-protocol=gopher", want: `
InvalidAnnotation: annotation health-check-interval: "often" is not a whole number of seconds from 5 …
InvalidAnnotation: annotation health-check-protocol: "gopher" is not one of http, https, tcp, udp`},
			{ask: "health-check-port=8081 health-check-timeout=40", want: `
update target group web-p80: health check http :8081/x every 30s, timeout 20s, 2 good, 3 bad becomes http
  :8081/x every 40s, timeout 40s, 2 good, 3 bad
update target group web-p443: health check http :8081/x every 30s, timeout 20s, 2 good, 3 bad becomes http
  :8081/x every 40s, timeout 40s, 2 good, 3 bad`},
			{ask: "health-check-port=8081 health-check-timeout=40 health-check-interval=10", want: `
ConflictingSettings: The timeout of the health check is 40 seconds and its interval is 10 seconds: …`},
			{ask: "health-check-port=8081 health-check-interval=10", want: `
update target group web-p80: health check http :8081/x every 40s, timeout 40s, 2 good, 3 bad becomes http
  :8081/x every 10s, timeout 3s, 2 good, 3 bad, the health-check-timeout is no longer managed by this Service
update target group web-p443: health check http :8081/x every 40s, timeout 40s, 2 good, 3 bad becomes http
  :8081/x every 10s, timeout 3s, 2 good, 3 bad, the health-check-timeout is no longer managed by this Service`},
			{spec: policyLocal, want: `
update target group web-p80: health check http :8081/x every 10s, timeout 3s, 2 good, 3 bad becomes http
  :32000/healthz every 5s, timeout 3s, 2 good, 3 bad, the health-check-interval is no longer managed by this
  Service
update target group web-p443: health check http :8081/x every 10s, timeout 3s, 2 good, 3 bad becomes http
  :32000/healthz every 5s, timeout 3s, 2 good, 3 bad, the health-check-interval is no longer managed by this
  Service`},
		}},
		{name: "the check of the node port of one that was taken over", keeps: true, steps: []step{
			{hand: forget, spec: ports("80:31080 443"), want: `
update target group web-p80: target port 30080 becomes 31080, health check tcp :30080/healthz becomes tcp
  :31080/healthz`},
			{ask: "health-check-port.80=31080", spec: ports("80:31080 443")},
			{ask: "health-check-port.80=31080", spec: ports("80:32080 443"), want: `
update target group web-p80: target port 31080 becomes 32080`},
		}},
	}
}

// livesOfTakenOverLimits are as livesOfTakenOverChecks, about limits, and paths of health checks.
func livesOfTakenOverLimits() []life {
	return []life{
		{name: "a limit of one that was taken over", keeps: true, steps: []step{
			{hand: limited77},
			{ask: "max-connections=many", want: `
InvalidAnnotation: annotation max-connections: "many" is not a whole number of connections from 1 to …`},
			{ask: "max-connections=7", want: `
update listener web-p80: connection limit 77 becomes 7
update listener web-p443: connection limit 10000 becomes 7`},
			{ask: "max-connections=many", want: `
InvalidAnnotation: annotation max-connections: "many" is not a whole number of connections from 1 to …`},
			{want: `
update listener web-p80: connection limit 7 becomes 10000, the max-connections is no longer managed by this
  Service
update listener web-p443: connection limit 7 becomes 10000, the max-connections is no longer managed by this
  Service`},
		}},
		{name: "a check of TCP has no path", keeps: true, steps: []step{
			{hand: func(w *world) {
				w.groups[0].HealthCheck, w.groups[1].HealthCheck = pathless(*w.groups[0].HealthCheck, ""),
					pathless(*w.groups[1].HealthCheck, "/")
			}},
		}},
	}
}

// livesOfUnreadableSources are about sources of which it is not known who is meant: what is open stays, and nothing is
// opened.
func livesOfUnreadableSources() []life {
	const older = "service.beta.kubernetes.io/load-balancer-source-ranges="
	return []life{
		{name: "sources of one port cannot be read", new: true, keeps: true, steps: []step{
			{ask: "acl-port-443=nobody", want: `
create target group web-p80
update target group web-p80: 0 machines become 3
create load balancer web
InvalidAnnotation: annotation acl-port-443: "nobody" is not networks like 10.0.0.0/8 or …`},
			{ask: "acl-allowed-sources=nobody", want: `
InvalidAnnotation: annotation acl-allowed-sources: "nobody" is not networks like 10.0.0.0/8 or …`},
			{ask: "type=private", want: `
refused: 1 of the ports of Service shop/web are not opened: the annotations that make the load …
InvalidAnnotation: annotation type: "private" is not one of public, internal`},
			{want: `
create target group web-p443
update target group web-p443: 0 machines become 3
create listener web-p443`},
			{ask: "create-security-group=true acl-port-p80=10.0.0.0/8", want: `
create security group own
update load balancer web: it gets the security groups of the Service
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8 (closes)`},
			{ask: "create-security-group=true acl-port-p80=nobody", want: `
InvalidAnnotation: annotation acl-port-p80: "nobody" is not networks like 10.0.0.0/8 or …`},
		}},
		{name: "ways to name sources", keeps: true, steps: []step{
			{ask: "acl-port-p80=10.0.0.0/8 acl-port-80=192.0.2.0/24 acl-port-443=", want: `
update listener web-p80: allowed sources everybody becomes 10.0.0.0/8, 192.0.2.0/24 (closes)`},
			{ask: "acl-allowed-sources= acl-port-p80=", want: `
update listener web-p80: allowed sources 10.0.0.0/8, 192.0.2.0/24 becomes everybody, the allowed-sources is no
  longer managed by this Service`},
			{ask: older + "10.0.0.0/8", spec: ranges("192.0.2.7/24", " 192.0.2.0/24 ", "2001:db8::1/32"), want: `
update listener web-p80: allowed sources everybody becomes 192.0.2.0/24, 2001:db8::/32 (closes)
update listener web-p443: allowed sources everybody becomes 192.0.2.0/24, 2001:db8::/32 (closes)`},
			{ask: older + "everybody", spec: ranges("192.0.2.0/24", "2001:db8::/32"),
				hand: first(func(lb *resource.LoadBalancer) {
					lb.Listeners[0].AllowedSources = []string{"2001:DB8:0::/32", "192.0.2.9/24"}
				})},
			{ask: older + "everybody", want: `
InvalidAnnotation: annotation service.beta.kubernetes.io/load-balancer-source-ranges: "everybody" is …`},
			{spec: ranges("192.0.2.1"), want: `
InvalidAnnotation: annotation spec.loadBalancerSourceRanges: "192.0.2.1" is not a network like …`},
			{want: `
update listener web-p80: allowed sources 2001:DB8:0::/32, 192.0.2.9/24 becomes everybody, the allowed-sources
  is no longer managed by this Service
update listener web-p443: allowed sources 192.0.2.0/24, 2001:db8::/32 becomes everybody, the allowed-sources
  is no longer managed by this Service`},
			{ask: "acl-allowed-sources=nobody", hand: first(byHand), want: `
InvalidAnnotation: annotation acl-allowed-sources: "nobody" is not networks like 10.0.0.0/8 or …`},
		}},
	}
}

// unchecked is a load balancer of the existing CCM without health checks.
func unchecked(w *world) {
	forget(w)
	for i := range w.groups {
		w.groups[i].HealthCheck = nil
	}
}

// limited77 is a load balancer of the existing CCM with a limit that somebody set in the cloud.
func limited77(w *world) {
	forget(w)
	first(func(lb *resource.LoadBalancer) { lb.Listeners[0].MaxConnections = 77 })(w)
}

// pathless returns the check with another path.
func pathless(check resource.HealthCheck, path string) *resource.HealthCheck {
	check.Path = path
	return &check
}
