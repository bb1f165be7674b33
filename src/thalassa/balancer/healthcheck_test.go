package balancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// healthOf is what a Service with these annotations asks for about its port 80.
func healthOf(t *testing.T, annotations ...string) healthSettings {
	t.Helper()
	web := service("web", 80)
	annotated(annotations...)(web)
	read, _ := newAnnotations().read(web)
	return read.ports[cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}].health
}

// checking is a health check with the default times.
func checking(protocol string, port int32, path string) *resource.HealthCheck {
	return &resource.HealthCheck{Protocol: protocol, Port: port, Path: path, PeriodSeconds: 5, TimeoutSeconds: 3,
		HealthyThreshold: 1, UnhealthyThreshold: 3}
}

// slow is one that somebody made by hand.
func slow() *resource.HealthCheck {
	return &resource.HealthCheck{Protocol: resource.ProtocolHTTP, Port: 9000, Path: "/slow", PeriodSeconds: 60,
		TimeoutSeconds: 30, HealthyThreshold: 7, UnhealthyThreshold: 8}
}

func changed(check *resource.HealthCheck, change func(*resource.HealthCheck)) *resource.HealthCheck {
	change(check)
	return check
}

// at changes the port.
func onPort(port int32) func(*resource.HealthCheck) {
	return func(c *resource.HealthCheck) { c.Port = port }
}

// healthCheckTest is the health check of a port, in a target group that is ours and in an adopted one.
type healthCheckTest struct {
	annotations   []string
	local, udp    bool
	observed      *resource.HealthCheck
	ours, adopted *resource.HealthCheck // nil: none
}

func healthCheckTests() map[string]healthCheckTest {
	const local, udp = true, true
	type ask = []string
	return map[string]healthCheckTest{
		"not asked": {nil, false, false, nil, checking("tcp", 30080, "/healthz"), nil},
		"not asked, one is there": {nil, false, false, slow(),
			checking("tcp", 30080, "/healthz"), slow()},
		"not asked, of UDP": {nil, false, udp, nil, nil, nil},
		"switched off":      {ask{"health-check-enabled", "false"}, false, false, slow(), nil, nil},
		"switched off with port": {ask{"health-check-enabled", "false", "health-check-port", "8081"}, false, false,
			slow(), nil, nil},
		"switched on": {ask{"health-check-enabled", "true"}, false, false, nil,
			checking("tcp", 30080, "/healthz"), nil},
		"switched on, which the existing CCM took for nothing": {ask{"health-check-enabled", "true"}, false, false,
			slow(), checking("tcp", 30080, "/healthz"), slow()},
		"switched on, of UDP":           {ask{"health-check-enabled", "true"}, false, udp, nil, nil, nil},
		"cannot be read":                {ask{"health-check-enabled", "perhaps"}, false, false, slow(), slow(), slow()},
		"cannot be read, none is there": {ask{"health-check-enabled", "perhaps"}, false, false, nil, nil, nil},
		"a port, and switched on": {ask{"health-check-enabled", "true", "health-check-port", "8081"}, false, false, nil,
			checking("http", 8081, "/healthz"), checking("http", 8081, "/healthz")},
		"a port, and switched on, over another": {ask{"health-check-enabled", "true", "health-check-port", "8081"},
			false, false, slow(),
			checking("http", 8081, "/healthz"), changed(slow(), onPort(8081))},
		"a port alone": {ask{"health-check-port", "8081"}, false, false, nil, checking("http", 8081, "/healthz"), nil},
		"a port, of UDP": {ask{"health-check-enabled", "true", "health-check-port", "8081"}, false, udp, nil,
			checking("http", 8081, "/healthz"), checking("http", 8081, "/healthz")},
		"everything": {ask{"health-check-enabled", "true", "health-check-port", "8081", "health-check-protocol",
			"https", "health-check-path", "/x",
			"health-check-interval", "30", "health-check-timeout", "20", "health-check-up-threshold", "4",
			"health-check-down-threshold", "5"}, false, false, nil,
			&resource.HealthCheck{Protocol: "https", Port: 8081, Path: "/x", PeriodSeconds: 30, TimeoutSeconds: 20,
				HealthyThreshold: 4, UnhealthyThreshold: 5},
			&resource.HealthCheck{Protocol: "https", Port: 8081, Path: "/x", PeriodSeconds: 30, TimeoutSeconds: 20,
				HealthyThreshold: 4, UnhealthyThreshold: 5}},
		"HTTP on the node port": {ask{"health-check-protocol", "http", "health-check-path", "/x"}, false, false, nil,
			checking("http", 30080, "/x"), nil},
		"Local": {nil, local, false, nil, checking("http", 32000, "/healthz"),
			checking("http", 32000, "/healthz")},
		"Local, another check is there": {nil, local, false, slow(), checking("http", 32000, "/healthz"),
			changed(slow(), func(c *resource.HealthCheck) { c.Port, c.Path = 32000, "/healthz" })},
		"Local, of UDP": {nil, local, udp, nil, checking("http", 32000, "/healthz"),
			checking("http", 32000, "/healthz")},
		"Local, with a port": {ask{"health-check-port", "8081"}, local, false, nil,
			checking("http", 8081, "/healthz"), checking("http", 8081, "/healthz")},
		"Local, with a protocol, which the existing CCM ignored": {ask{"health-check-protocol", "tcp"}, local, false,
			nil,
			checking("http", 32000, "/healthz"), checking("http", 32000, "/healthz")},
		"Local, switched off, which the existing CCM ignored": {ask{"health-check-enabled", "false"}, local, false, nil,
			checking("http", 32000, "/healthz"), checking("http", 32000, "/healthz")},
		"an interval that cannot be read": {ask{"health-check-enabled", "true", "health-check-port", "8081",
			"health-check-interval", "often"}, false, false, slow(),
			changed(checking("http", 8081, "/healthz"), func(c *resource.HealthCheck) { c.PeriodSeconds = 60 }),
			changed(slow(), onPort(8081))},
		"a protocol that there is not": {ask{"health-check-enabled", "true", "health-check-port", "8081",
			"health-check-protocol", "gopher"}, false, false,
			changed(slow(), func(c *resource.HealthCheck) {
				c.Protocol = "https"
			}), checking("https", 8081, "/healthz"), changed(slow(), func(c *resource.HealthCheck) {
				c.Protocol, c.Port = "https", 8081
			})},
		"a timeout beyond the interval": {ask{"health-check-enabled", "true", "health-check-port", "8081",
			"health-check-interval", "5", "health-check-timeout", "6"}, false, false, slow(),
			changed(checking("http", 8081, "/healthz"), func(c *resource.HealthCheck) {
				c.PeriodSeconds, c.TimeoutSeconds = 60, 30
			}), changed(slow(), onPort(8081))},
	}
}

// TestHealthChecks: with and without being asked, in target groups that are ours and in adopted ones.
func TestHealthChecks(t *testing.T) {
	for name, tt := range healthCheckTests() {
		t.Run(name, func(t *testing.T) {
			port := cloud.Port{Key: cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}, TargetPort: 30080}
			if tt.udp {
				port.Protocol = corev1.ProtocolUDP
			}
			c := healthCheckSpec{settings: healthOf(t, tt.annotations...)}
			if tt.local {
				c.nodePort = 32000
			}
			if diff := cmp.Diff(tt.adopted, c.effective(&recordUpdate{adopted: true}, port,
				tt.observed)); diff != "" {
				t.Errorf("adopted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ours, c.effective(&recordUpdate{}, port, tt.observed)); diff != "" {
				t.Errorf("ours (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPathsWithoutMeaningStay: a health check of TCP has none, and what the cloud makes of it is no difference.
func TestPathsWithoutMeaningStay(t *testing.T) {
	port := cloud.Port{Key: cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}, TargetPort: 30080}
	for _, path := range []string{"", "/", "/healthz"} {
		observed := checking("tcp", 30080, path)
		if diff := cmp.Diff(observed, (healthCheckSpec{settings: healthOf(t)}).effective(&recordUpdate{},
			port, observed)); diff != "" {
			t.Errorf("with the path %q (-observed +aimed at):\n%s", path, diff)
		}
	}
}

// TestHealthCheckWithoutAnnotation: a value that a Service asked for, and does not any more, becomes the default
// again. An adopted target group keeps each value until its Service asks for another.
func TestHealthCheckWithoutAnnotation(t *testing.T) {
	port := cloud.Port{Key: cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}, TargetPort: 30080}
	times := func(interval, timeout int, up, down int32) *resource.HealthCheck {
		return &resource.HealthCheck{Protocol: "tcp", Port: 30080, Path: "/healthz",
			PeriodSeconds: interval, TimeoutSeconds: timeout, HealthyThreshold: up, UnhealthyThreshold: down}
	}
	adopted := func(settings ...string) recordUpdate {
		record := recordUpdate{adopted: true}
		for _, setting := range settings {
			record.lastApplied = record.with(setting)
		}
		return record
	}
	tests := map[string]struct {
		record         recordUpdate
		annotations    []string
		observed, want *resource.HealthCheck
	}{
		"ours, as it is":                   {recordUpdate{}, nil, times(5, 3, 1, 3), times(5, 3, 1, 3)},
		"ours, an interval removed":        {recordUpdate{}, nil, times(10, 3, 1, 3), times(5, 3, 1, 3)},
		"ours, the existing CCM's removed": {recordUpdate{}, nil, times(10, 5, 2, 3), times(5, 3, 1, 3)},
		"ours, an interval": {recordUpdate{}, []string{"health-check-interval", "15"}, times(5, 3, 1, 3),
			times(15, 3, 1, 3)},
		"ours, a timeout": {recordUpdate{}, []string{"health-check-timeout", "8"}, times(5, 3, 1, 3),
			times(8, 8, 1, 3)},
		"adopted":                    {adopted(), nil, times(10, 5, 2, 4), times(10, 5, 2, 4)},
		"adopted, no longer checked": {adopted("health-check"), nil, times(10, 5, 2, 4), nil},
		"adopted, an interval": {adopted(), []string{"health-check-interval", "15"}, times(10, 5, 2, 4),
			times(15, 5, 2, 4)},
		"adopted, an interval below its timeout": {adopted(), []string{"health-check-interval", "5"},
			times(10, 8, 2, 4), times(5, 5, 2, 4)},
		"adopted, a timeout beyond its interval": {adopted(), []string{"health-check-timeout", "12"},
			times(10, 5, 2, 4), times(12, 12, 2, 4)},
		"adopted, an interval removed, a threshold there": {adopted("health-check", "health-check-interval",
			"health-check-up-threshold"), []string{"health-check-up-threshold", "4"}, times(15, 3, 4, 6),
			times(5, 3, 4, 6)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := healthCheckSpec{settings: healthOf(t, tt.annotations...)}
			if diff := cmp.Diff(tt.want, c.effective(&tt.record, port, tt.observed)); diff != "" {
				t.Errorf("health check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdoptedCheckOfTheNodePort: the check of the node port follows it, unless the Service names the port of the check.
func TestAdoptedCheckOfTheNodePort(t *testing.T) {
	port := cloud.Port{Key: cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}, TargetPort: 31080}
	group := resource.TargetGroup{Port: 30080, HealthCheck: checking("tcp", 30080, "/healthz")}
	for want, annotations := range map[int32][]string{31080: nil, 30080: {"health-check-port", "30080"}} {
		web := service("web", 80)
		annotated(annotations...)(web)
		d := NewConfig(cloudconfig.Default()).Request(web, Observed{}).desired
		if got := d.checkOf(port, group, &recordUpdate{adopted: true}); got.Port != want {
			t.Errorf("with %q the check is of port %d, want %d", annotations, got.Port, want)
		}
	}
}

// TestFirstAnswer: by default a node that answers gets its first connection within 10 seconds, whatever part of the
// interval is over when its load balancer is made.
func TestFirstAnswer(t *testing.T) {
	port := cloud.Port{Key: cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}, TargetPort: 30080}
	for _, nodePort := range []int32{0, 32000} {
		check := healthCheckSpec{settings: healthOf(t), nodePort: nodePort}.effective(&recordUpdate{}, port,
			nil)
		if at := check.PeriodSeconds*int(check.HealthyThreshold) + check.TimeoutSeconds; at >= 10 {
			t.Errorf("health check %s: the first answer comes after up to %d seconds", check.String(), at)
		}
	}
}
