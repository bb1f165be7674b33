package exampletest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// assertion returns what an example asks for and does not have; "" when it has all.
type assertion func(t *testing.T, c *cloud, s served) string

// served is an example as the cluster's API server stores it, with what its Service's status shows.
type served struct {
	cluster *cluster
	service *corev1.Service
	status  *corev1.LoadBalancerStatus
}

// assertions are by the names of examples. They are for those whose effect is more than an address.
func assertions() map[string]assertion {
	return map[string]assertion{
		"public":           addresses("203.0.113."),
		"internal":         addresses("10.0."),
		"load-balancer-ip": addresses("203.0.113.10"),
		"dual-stack":       addresses("203.0.113.", "2001:db8:"),
		"publish-hostname": hostname,
		"source-ranges": sources(map[int][]string{
			80:  {"2001:db8:1::/48", "203.0.113.0/24"},
			443: {"2001:db8:1::/48", "203.0.113.0/24"},
		}),
		"per-port-access": sources(map[int][]string{
			80:   {"198.51.100.0/24", "203.0.113.0/24"},
			8081: {"192.0.2.10/32", "198.51.100.0/24", "203.0.113.0/24"},
		}),
		"limits-and-timeouts": shows("/v1/loadbalancers", `"maxConnections":20000`, `"maxConnections":50000`,
			`"connectionIdleTimeout":600`),
		"instance-size":      shows("/v1/loadbalancers", `"lb-gp-large"`),
		"name-and-labels":    shows("/v1/loadbalancers", `"Shop front"`, `"team":"shop"`),
		"delete-protection":  shows("/v1/loadbalancers", `"deleteProtection":true`),
		"security-groups":    shows("/v1/loadbalancers", `"slug":"office"`),
		"subnet":             shows("/v1/loadbalancers", `"slug":"frontend"`),
		"adopt":              adopted,
		"own-security-group": shows("/v1/security-groups", `"203.0.113.0/24"`, `"198.51.100.0/24"`, `"icmp"`),
		"reserved-ip":        shows("/v1/reserved-ips", `"status":"attached"`),
		"proxy-protocol": shows("/v1/loadbalancer-target-groups", `"enableProxyProtocol":true`,
			`"enableProxyProtocol":false`),
		"session-affinity": shows("/v1/loadbalancer-target-groups", `"MAGLEV"`),
		"policy-per-port":  shows("/v1/loadbalancer-target-groups", `"ROUND_ROBIN"`, `"MAGLEV"`),
		"health-check": shows("/v1/loadbalancer-target-groups", `"path":"/ready"`, `"port":30900`,
			`"unhealthyThreshold":2`),
		"health-check-off": checks(tcpCheck, noCheck),
		"local":            checks(localCheck),
		"udp":              shows("/v1/loadbalancer-target-groups", `"port":30900`),
		"tcp-and-udp":      shows("/v1/loadbalancers", `"protocol":"tcp"`, `"protocol":"udp"`),
		"node-selector":    targets(1),
		"max-targets":      targets(1),
		"keep":             kept,
	}
}

// addresses wants one address that begins with each of these, and no others.
func addresses(begin ...string) assertion {
	return func(_ *testing.T, _ *cloud, s served) string {
		for _, text := range begin {
			if !slices.ContainsFunc(s.status.Ingress, func(i corev1.LoadBalancerIngress) bool {
				return strings.HasPrefix(i.IP, text)
			}) {
				return fmt.Sprintf("addresses %+v, want one that begins with %s", s.status.Ingress, text)
			}
		}
		if len(s.status.Ingress) != len(begin) {
			return fmt.Sprintf("addresses %+v, want %d", s.status.Ingress, len(begin))
		}
		return ""
	}
}

func hostname(_ *testing.T, _ *cloud, s served) string {
	if len(s.status.Ingress) != 1 || s.status.Ingress[0].IP != "" || s.status.Ingress[0].Hostname == "" {
		return fmt.Sprintf("status %+v, want a host name and no address", *s.status)
	}
	return ""
}

// shows wants texts in what the cloud shows.
func shows(path string, texts ...string) assertion {
	return func(t *testing.T, c *cloud, _ served) string {
		t.Helper()
		var all json.RawMessage
		c.call(t, http.MethodGet, path, "", &all)
		for _, text := range texts {
			if !strings.Contains(strings.ReplaceAll(string(all), `": `, `":`), text) {
				return fmt.Sprintf("%s has no %s: %s", path, text, all)
			}
		}
		return ""
	}
}

// targets wants a number of machines behind the only port.
func targets(count int) assertion {
	return func(t *testing.T, c *cloud, _ served) string {
		t.Helper()
		var groups []struct {
			Attachments []json.RawMessage `json:"loadbalancerTargetGroupAttachments"`
		}
		c.call(t, http.MethodGet, "/v1/loadbalancer-target-groups", "", &groups)
		if len(groups) != 1 || len(groups[0].Attachments) != count {
			return fmt.Sprintf("target groups %v, want one with %d machines", groups, count)
		}
		return ""
	}
}
