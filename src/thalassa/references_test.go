package thalassa

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestUnknownReferences: what a Service names and is not there is reported once, blocks the making of a load balancer
// that would be another one than asked for, and nothing else; when it is there, all goes on by itself.
func TestUnknownReferences(t *testing.T) {
	for name, tt := range map[string]struct {
		apply  func(*corev1.Service)
		reason string
		names  string
		make   func(*lab)
		look   func(*lab) string
		want   string
	}{
		"subnet": {annotated("subnet", "third"), reasonUnknownSubnet, "subnet-second (second)", func(l *lab) {
			l.request(http.MethodPost, "/v1/subnets", map[string]any{"name": "third",
				"vpcIdentity": emulator.DefaultVPC, "cidr": "10.0.200.0/24"})
		}, func(l *lab) string { return fmt.Sprint(l.only().SubnetIdentity != emulator.DefaultSubnet) }, "true"},
		"security group": {annotated("security-groups", "three"), reasonUnknownGroup, "sg-one (one)", func(l *lab) {
			l.request(http.MethodPost, "/v1/security-groups", map[string]any{"name": "three",
				"vpcIdentity": emulator.DefaultVPC})
		}, func(l *lab) string { return fmt.Sprint(len(l.only().SecurityGroups)) }, "1"},
		"reserved IP": {annotated("reserved-ip", "three"), reasonUnknownIP, "has no reserved IP \"three\"",
			func(l *lab) {
				l.request(http.MethodPost, "/v1/reserved-ips", map[string]any{"name": "three",
					"region": emulator.DefaultRegion})
			}, func(l *lab) string { return fmt.Sprint(l.only().ReservedIPIdentity != "") }, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes := l.nodes("a")
				if _, err := l.ensure(serviceWith(tt.apply), nodes); err == nil {
					t.Error("a load balancer is made that is not what the Service asks for")
				}
				l.reported("new", tt.reason, tt.names)
				found, err := l.cloud.balancers.Diff(t.Context(), serviceWith(tt.apply), cloud.Targets{}, false)
				if err != nil || !found.Targets.LeftOut {
					t.Errorf("error %v, looked at again by itself: %t", err, found.Targets.LeftOut)
				}
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("made: %v", left)
				}
				l.settle(serviceWith(nil), nodes)
				moved := serviceWith(tt.apply)
				moved.Spec.Ports[0].NodePort = 31080
				l.settle(moved, append(nodes, l.nodes("b")...))
				l.reported("existing", tt.reason, tt.names)
				if got := l.only().Listeners[0].TargetGroup; got.TargetPort != 31080 || len(l.machines(got.Name)) != 2 {
					t.Errorf("target port %d, machines %v; want the Service followed in all else", got.TargetPort,
						l.machines(got.Name))
				}
				tt.make(l)
				<-time.After(10 * time.Minute)
				l.settle(moved, l.allNodes)
				if got := tt.look(l); got != tt.want {
					t.Errorf("once it is there: %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// warnings are all that were reported since the last look.
func (l *lab) warnings() string {
	l.Helper()
	var all []string
	for event := l.nextEvent(); event != ""; event = l.nextEvent() {
		all = append(all, event)
	}
	return strings.Join(all, "\n")
}

// reported wants one warning with the texts, and no other; without texts, none.
func (l *lab) reported(what string, texts ...string) {
	l.Helper()
	got := l.warnings()
	if len(texts) == 0 && got != "" {
		l.Errorf("%s: warnings %q, want none", what, got)
	}
	if strings.Count(got, "\n") > 0 {
		l.Errorf("%s: more than one warning:\n%s", what, got)
	}
	for _, text := range texts {
		if !strings.Contains(got, text) {
			l.Errorf("%s: warning %q, want one with %q", what, got, text)
		}
	}
}

func ips(status *corev1.LoadBalancerStatus) string {
	var texts []string
	for _, ingress := range status.Ingress {
		texts = append(texts, strings.TrimSuffix(ingress.IP+" "+ingress.Hostname, " "))
	}
	return strings.Join(texts, ", ")
}

// TestQuotaIsExplained: a creation that a quota refuses says which one it is, with its numbers.
func TestQuotaIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Switches: emulator.Switches{QuotaStatus: http.StatusForbidden}})
		if err := l.emulator.SetQuota(emulator.DefaultOrganisation, "loadbalancers", 1); err != nil {
			t.Fatal(err)
		}
		nodes := l.nodes("a")
		l.settle(service("first", 80), nodes)
		if _, err := l.ensure(service("second", 80), nodes); err == nil ||
			!strings.Contains(err.Error(), "loadbalancers, 1 of 1") {
			t.Errorf("error %v, want one with the quota's name and numbers", err)
		}
	})
}
