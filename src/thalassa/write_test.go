package thalassa

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestReservedIPOfOthersStays: the existing CCM sends an empty reservedIpId with every update, which takes away an
// address that somebody attached. Ours never sends the key, and without it the cloud leaves the address alone.
func TestReservedIPOfOthersStays(t *testing.T) {
	for name, annotate := range map[string]func(*corev1.Service){"no annotation": annotated(),
		"an empty annotation": annotated("reserved-ip", "")} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, emulator.Config{})
			tap := l.tap()
			nodes, web := l.nodes("a"), service("web", 80)
			annotate(web)
			l.settle(web, nodes)
			reserved := l.attachReservedIP(l.balancer().Identity)

			l.config.AdditionalLabels = map[string]string{"team": "shop"} // which is an update of everything
			l.restart()
			annotated("idle-connection-timeout", "77", "loadbalancing-policy", "RANDOM")(web)
			if status := l.settle(web, nodes); len(status.Ingress) != 1 || status.Ingress[0].IP != reserved {
				t.Errorf("status = %+v, want the reserved address %s", status, reserved)
			}
			if got := l.balancer().ExternalIpAddresses; !slices.Equal(got, []string{reserved}) {
				t.Errorf("addresses = %v, want the reserved one, %s", got, reserved)
			}
			if updates := tap.heard("PUT /v1/loadbalancers/" + l.balancer().Identity); len(updates) != 2 {
				t.Errorf("%d updates of load balancer and listener, want 2", len(updates))
			}
			for _, body := range tap.heard("P") {
				if strings.Contains(body, "reservedIp") {
					t.Errorf("sent %s: it says something about reserved IPs", body)
				}
			}
		})
	}
}

// attachReservedIP gives a load balancer a reserved address, outside of Kubernetes, and returns the address.
func (l *lab) attachReservedIP(balancer string) string {
	l.Helper()
	ip, err := l.api().CreateReservedIP(l.Context(), iaas.CreateReservedIpRequest{Name: "by-hand",
		Region: emulator.DefaultRegion})
	if err != nil {
		l.Fatal(err)
	}
	ip, err = l.api().AssociateReservedIP(l.Context(), ip.Identity,
		iaas.AssociateReservedIpRequest{LoadbalancerIdentity: &balancer})
	if err != nil {
		l.Fatal(err)
	}
	return ip.IPv4Address
}

// TestAnswerWithoutSubnet: the existing CCM dereferences what the cloud may leave out.
func TestAnswerWithoutSubnet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.tap().shown = func(_ string, object map[string]any) {
			for key := range object {
				if strings.HasPrefix(key, "subnet") {
					object[key] = nil
				}
			}
		}
		l.config.DefaultSubnet = ""
		nodes, web := l.nodes("a"), service("web", 80)
		if _, err := l.ensure(web, nodes); err == nil || !strings.Contains(err.Error(), "has no subnets") {
			t.Errorf("error = %v, want one about the VPC without subnets", err)
		}
		old := legacyOf(web, nil)
		l.plant(old, nodes)
		l.restart()
		l.settle(web, nodes)
		if writes := l.writes(); len(writes) > 0 {
			t.Errorf("writes because the answer lacks the subnet: %v", writes)
		}
		l.remove(web)
	})
}

// securityGroups makes security groups and returns their identities.
func (l *lab) securityGroups(names ...string) []string {
	l.Helper()
	var identities []string
	for _, name := range names {
		group, err := l.api().CreateSecurityGroup(l.Context(), iaas.CreateSecurityGroupRequest{Name: name,
			VpcIdentity: emulator.DefaultVPC})
		if err != nil {
			l.Fatal(err)
		}
		identities = append(identities, group.Identity)
	}
	return identities
}
